"""The client of the platform's API.

In: an operation with its parameters. Out: a validated model of the answer, or a typed error of `errors.py`. `http/`
sends requests and reads answers, `api/` declares the operations and the models of their answers.

This package does not depend on collectors, targets or the configuration. No other package imports httpx or aiohttp.
"""
