"""Defines queries for absent families, by cause."""

from dashboards.generator.page import Query
from dashboards.generator.promql import INSTANCE, series, total

# Causes that the configuration decides are expected; other shards count their own targets.
_CHOSEN = "collector_disabled|denied|not_allowed|filtered|not_configured|other_shard"

BY_CAUSE = Query(total(series("edge_exporter_absent_families", INSTANCE, f'cause!~"{_CHOSEN}"'), "cause"), "{{cause}}")
TABLE = Query(total(series("edge_exporter_absent_families", INSTANCE, 'cause!="other_shard"'), "collector", "cause"))
