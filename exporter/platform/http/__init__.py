"""Carries out operations over HTTP: request, budget, retries, deadline, answer.

In: an operation and its parameters. Out: an `Answer`, or an error of `exporter.platform.errors`. `client.py` adds the
key, and puts the parts together: `rate_limiter.py` (the account's budget, its pause after a 429, and how long a retry
waits), `transport.py` (proxies, trusted certificates, and the errors of httpx's exceptions), `aiohttp_transport.py`
(carries requests with aiohttp), `responses.py` (size limits, secrets in a body, and what a status and a body mean) and
`mask.py` (secrets that an answer repeats, and names of secret fields).
"""
