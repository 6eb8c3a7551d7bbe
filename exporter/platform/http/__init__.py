"""Carries out operations over HTTP: request, budget, retries, deadline, answer.

In: an operation and its parameters. Out: an `Answer`, or an error of `exporter.platform.errors`. `client.py` adds the
key, and puts the parts together: `rate_limiter.py` (the account's budget, and its pauses after a 429 or 503),
`retry.py` (how long a retry waits), `transport.py` (trusted certificates, and the errors of httpx's exceptions),
`proxy.py` (proxies), `aiohttp_transport.py` (carries requests with aiohttp), `responses.py` (size limits, secrets in a
body, and what a status and a body mean) and `mask.py` (secrets that an answer repeats, and names of secret fields).
"""
