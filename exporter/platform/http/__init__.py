"""Carries out operations over HTTP: request, budget, retries, deadline, answer.

In: an operation and its parameters. Out: an `Answer`, or an error of `exporter.platform.errors`. `client.py` makes a
call, with its attempts and errors: with the key (`credential.py`), within the account's budget and the pauses after a
429 or 503 (`rate_limiter.py`), with aiohttp (`transport.py`); `responses.py` reads what came. `connector.py` has the
trusted certificates and proxies of an account, `mask.py` the names and values of secrets.
"""
