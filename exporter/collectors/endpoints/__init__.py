"""Collectors that the configuration declares: any GET of the platform, read by JMESPath expressions.

`endpoint.py` holds the declarations, `path.py` the paths that are asked, `expression.py` the bounded evaluation of
expressions, `reading.py` what they yield, `listing.py` the discovery of targets, `shared_calls.py` the answers that
several endpoints use, `build.py` the collectors.

In: declarations. Out: collectors like the built-in ones, for the same engine.
"""
