"""The targets: what is polled, how it is found, and which shard polls it.

`target.py` defines a target, its identity and the inventory that a discovery returns. `registry.py` holds the
configured and the discovered targets with their names. `sharding.py` assigns each target to a shard by a hash.

In: the configuration's selections and the inventories of discoveries. Out: targets, and what was added or removed.
This package makes no requests and knows no metrics.
"""
