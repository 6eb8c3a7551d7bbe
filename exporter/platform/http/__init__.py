"""Carries out operations over HTTP: request, budget, retries, deadline, answer.

`client.py` makes calls, repeats failed reads, and turns failures into errors. `credential.py` supplies the key,
`rate_limiter.py` applies the budget and the pauses that answers ask for. `transport.py` sends requests with aiohttp,
`responses.py` reads the bodies of answers, `response_headers.py` two headers. `proxy.py` finds the proxy, and
creates the transport.
"""
