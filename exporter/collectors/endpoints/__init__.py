"""Collectors that the configuration declares: any GET of the platform, read by JMESPath expressions.

`endpoint.py` holds the declarations, `path.py` the paths of requests, `expression.py` the bounded evaluation of
expressions, `reading.py` the conversion of their results, `listing.py` the discovery of targets, `build.py` the
construction of collectors.

In: declarations. Out: collectors like the built-in ones, which the same code polls.
"""
