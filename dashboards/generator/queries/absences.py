"""Families that targets could have and have no series of, by the cause that the exporter names."""

from dashboards.generator.page import Query
from dashboards.generator.promql import INSTANCE, series, total

# What the configuration decides is no news; the other shards' targets are counted by those shards.
_CHOSEN = "collector_disabled|denied|not_allowed|filtered|not_configured|other_shard"

BY_CAUSE = Query(total(series("edge_exporter_absent_families", INSTANCE, f'cause!~"{_CHOSEN}"'), "cause"), "{{cause}}")
TABLE = Query(total(series("edge_exporter_absent_families", INSTANCE, 'cause!="other_shard"'), "collector", "cause"))
