"""Collectors of configured endpoints: any GET of the platform, whose answers are read by JMESPath expressions.

In: the section `endpoints` of the configuration. Out: collectors, which are polled like the built-in ones.

`endpoint.py` defines the section, `names.py` checks its names. `path.py` reads the paths of requests, `expression.py`
evaluates expressions, and `reading.py` converts their results to samples. `listing.py` discovers targets, `build.py`
creates the collectors.
"""
