"""What is polled: the targets, how they are found, and which of them are this shard's.

`target.py` holds the identity of a target and the inventory that a discovery yields, `registry.py` the configured and
the discovered targets with their names, `sharding.py` the hash that assigns a target to a shard.

In: the configuration's selections and the inventories of discoveries. Out: targets, and what was added or removed.
Nothing here makes a request or knows a metric.
"""
