"""The collectors: each polls one kind of target, and converts the answers to metrics.

In: a target, and a caller of the platform. Out: the families and counts of targets, or errors.
`collector.py` defines what a collector is, and converts an answer to families. `catalogue.py` lists the built-in
collectors. `endpoints/` builds collectors from the endpoints of the configuration.

A collector keeps no state that affects the values of a later poll, and does not decide when it polls. A poll returns
all families of a target, or none.
"""
