"""Collectors of configured endpoints: GET requests whose answers are read by JMESPath expressions.

In: the section `endpoints` of the configuration. Out: collectors, which are polled like the built-in ones.

`endpoint.py` defines the section, `names.py` finds conflicts of names. `path.py` reads the paths of requests,
`expression.py` evaluates expressions, and `reading.py` converts the results to numbers and sources of counters.
`listing.py` discovers targets, `build.py` creates the collectors.
"""
