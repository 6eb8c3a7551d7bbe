"""The targets that are polled, their selection from the resources of an account, and their shards.

`target.py` defines a target, its identity, and the inventory that a discovery reports. `selection.py` decides which of
an account's resources are polled. `registry.py` holds the targets that this process polls, and the names of resources.
`resource_lists.py` holds the listed resources of an account, decides which resources have left the platform, and packs
the lists for the next start. `recent_removals.py` selects the removals that are reported. `sharding.py` assigns targets
to shards.

In: the configuration's selections and the inventories of discoveries. Out: targets and removals.
This package makes no requests and knows no metrics.
"""
