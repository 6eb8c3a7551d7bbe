"""The collectors: each polls one kind of target, and reads metrics or further targets from the answers.

In: a target, and a caller of the platform. Out: families, counts and found targets, or errors.
`collector.py` has the base class of collectors, and converts an answer to families. `catalogue.py` lists the built-in
collectors. `endpoints/` builds collectors from the endpoints of the configuration.

A collector keeps no state that affects the values of a later poll; the schedule decides when to poll. If one metric
cannot be read from an answer, the target gets no families from that answer.
"""
