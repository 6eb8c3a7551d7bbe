"""The collectors: each polls one kind of target, and converts the answers to metrics.

In: a target, and a caller with the poll's deadline. Out: the target's families and counts, or an error.
`collector.py` defines what a collector is, and converts an answer to families. `catalogue.py` lists the collectors for
the settings, the references and the checks of dashboards. `endpoints/` builds collectors from the endpoints of the
configuration.

A collector keeps no state that affects the values of a later poll, and does not decide when it polls. A poll returns
all families of a target, or none.
"""
