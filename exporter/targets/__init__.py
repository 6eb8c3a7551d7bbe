"""The targets: what is polled, how it is found, and which shard polls it.

`target.py` defines a target, its identity, and the inventory that a discovery returns. `selection.py` decides which of
an account's resources are polled. `registry.py` holds the targets that this process polls, and the names of resources.
`resource_lists.py` holds the listed resources of an account and packs them for the next start; `removals.py` selects
those that left the lists. `sharding.py` assigns each target to a shard by a hash.

In: the configuration's selections and the inventories of discoveries. Out: targets, and what left the platform.
This package makes no requests and knows no metrics.
"""
