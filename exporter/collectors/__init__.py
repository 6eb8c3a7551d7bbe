"""What is asked of the platform, and the metrics that its answers yield; one module for each resource.

In: a target, and a client bound to the poll's deadline. Out: the target's families and counts, or an error.
`collector.py` says what a collector is, `measure.py` turns an answer into families, `poll.py` polls a target once, and
`catalogue.py` lists the collectors, for all that iterates them or their families (settings, references, checks of
dashboards). `endpoints/` makes collectors of what the configuration declares.

A collector keeps no state between two polls (an answer that several endpoints share aside), decides nothing
about time, and yields all families of a target or none.
"""
