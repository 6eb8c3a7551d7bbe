"""Carries out operations over HTTP: request, budget, retries, deadline, answer.

`client.py` makes a call: it repeats failed attempts and turns failures into errors. `credential.py` supplies the key,
`rate_limiter.py` the account's budget and the pauses after a 429 or 503. `transport.py` sends requests with aiohttp,
`responses.py` reads the answers, `response_headers.py` two of their headers. `connector.py` finds the account's proxy,
and creates its transport.
"""
