"""The client of the platform's API.

In: an operation of the interface document, with its parameters. Out: a validated model of the answer, or one typed
error of `errors.py`. `http/` sends requests and reads answers, `api/` declares the operations and the models of their
answers, one module for each area of the platform.

This package does not depend on collectors, targets or the configuration. Only this package imports an HTTP client.
"""
