"""How an operation is carried out over HTTP: request, budget, retries, deadline, answer.

In: an operation and its parameters. Out: an `Answer`, or an error of `exporter.platform.errors`. `client.py` puts the
parts together: `rate_limiter.py` (the account's budget), `retry.py` (backoff), `transport.py` (sockets, and the
translation of the library's exceptions), `body.py` (size limits), `responses.py` (what a status and a body mean),
`credential.py` (keys) and `observer.py` (who is notified of each request).
"""
