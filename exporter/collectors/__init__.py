"""The collectors: each polls one kind of resource, and turns the answers into metrics. One module for each resource.

In: a target, and a client bound to the poll's deadline. Out: the target's families and counts, or an error.
`collector.py` defines what a collector is, polls a target once, and turns the answer into families; `catalogue.py`
lists the collectors for the settings, the references and the checks of dashboards. `endpoints/` builds collectors from
the endpoints of the configuration.

A collector keeps no state between two polls, except answers that several endpoints share. It does not decide when it
polls. It yields all families of a target, or none.
"""
