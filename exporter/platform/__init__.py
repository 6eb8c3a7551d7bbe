"""The platform as a client sees it.

In: an operation of the interface document and its parameters. Out: a validated model of the answer, or one typed
error of `errors.py`. `http/` sends requests and reads answers, `api/` declares the operations and the models of their
answers, one module for each area of the platform.

Nothing here knows metrics, targets or the configuration. Only this package imports an HTTP client.
"""
