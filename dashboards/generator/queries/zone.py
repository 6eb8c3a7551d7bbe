"""Defines queries for one DNS zone: its traffic compared with its past, and whether its polls succeed."""

from dashboards.generator.page import Query
from dashboards.generator.promql import ACCOUNT, ZONE, bottom, gauge, highest, lowest, top, total
from dashboards.generator.queries import dns, findings
from dashboards.generator.queries.truth import SILENT, known, measured, old, staleness

# Targets are named by kind and id; a choice of several zones is a regular expression.
_TARGET = 'target=~"dns_zone/($zone)"'
_UP = gauge("edge_target_up", ACCOUNT, _TARGET)
_TYPES = gauge("edge_dns_window_record_queries", *dns.SCOPE)

AGAINST_PAST = Query(measured(f"min({findings.against_past(ZONE)})", SILENT, old("dns_statistics")), "of the usual")
OLDEST = Query(known(highest(staleness(_TARGET)), SILENT), "oldest")
POLLS = Query(bottom(lowest(_UP, "collector"), 8), "{{collector}}")
RECORD_TYPE_SHARES = Query(f"{top(total(_TYPES, 'record_type'), 15)} / on () group_left () sum({_TYPES})")
