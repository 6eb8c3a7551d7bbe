"""Carries out operations over HTTP: request, budget, retries, deadline, answer.

In: an operation and its parameters. Out: an `Answer`, or an error of `exporter.platform.errors`. `client.py` puts the
parts together and waits before a retry: `request.py` (the request's parts), `rate_limiter.py` (the account's budget and
its pause after a 429), `retry.py` (how long a retry waits), `recognition.py` (an answer that equals the last one),
`platform_time.py` (which `Date` is accepted), `transport.py` (httpx's transport: proxies and trusted certificates),
`aiohttp_session.py` (carries requests with aiohttp), `faults.py` (translates the exceptions of httpx), `body.py` (size
limits), `responses.py` (what a status and a body mean), `credential.py` (keys) and `observer.py` (callbacks for each
request).
"""
