"""The targets: what is polled, how it is found, and which shard polls it.

`target.py` defines a target, its identity, and the inventory that a discovery returns. `selection.py` decides which of
an account's resources are polled. `registry.py` holds the targets that this process polls, and the names of resources.
`resource_lists.py` holds the listed resources of an account, decides which have left, and packs them for the next
start; `recent_removals.py` selects the removals that are reported. `sharding.py` assigns each target to a shard.

In: the configuration's selections and the inventories of discoveries. Out: targets, and what left the platform.
This package makes no requests and knows no metrics.
"""
