"""Carries out operations over HTTP: request, budget, retries, deadline, answer.

In: an operation and its parameters. Out: an `Answer`, or an error of `exporter.platform.errors`. `client.py` puts the
parts together and waits before a retry: `request.py` (the request's bytes), `rate_limiter.py` (the account's budget and
its pause after a 429), `retry.py` (how long a retry waits), `recognition.py` (an answer that equals the last one),
`platform_time.py` (which `Date` is accepted), `transport.py` (the interface to the HTTP library, proxies and trusted
certificates), `aiohttp_transport.py` (sends with aiohttp and translates its exceptions), `body.py` (size limits),
`responses.py` (what a status and a body mean), `credential.py` (keys) and `observer.py` (callbacks for each request).
"""
