"""Defines queries for databases, container images, searches and resources of accounts."""

from dashboards.generator.page import Query
from dashboards.generator.promql import (
    ACCOUNT,
    AT_END,
    DATABASE,
    JOB,
    TOP,
    among,
    bottom,
    gauge,
    highest,
    lowest,
    top,
    total,
)

_UP = gauge("edge_database_up", DATABASE)
_DURATION = gauge("edge_database_query_duration_seconds", DATABASE)
_ROWS = gauge("edge_database_query_rows", DATABASE)
_INTERVAL = gauge("edge_database_query_interval_seconds", DATABASE)
_SLOWEST = top(gauge("edge_database_query_duration_seconds", DATABASE, at=AT_END))

# A user's query N is the gauge edge_database_N. Its name is copied to a label, because the maximum drops the name.
_NOT_OWN = "edge_database_(up|query_(duration_seconds|rows|interval_seconds))"
_OWN_NAMES = f'__name__=~"edge_database_.+", __name__!~"{_NOT_OWN}"'
_OWN = (
    "max without (job) (max without (instance, pod) (label_replace("
    f'{{{_OWN_NAMES}, {JOB}, {DATABASE}}}, "measured", "$1", "__name__", "edge_database_(.+)")))'
)

DATABASES_DOWN = Query(total(f"{_UP} == bool 0"), "databases")
UP = Query(lowest(_UP, "database"), "{{database}}")
DURATIONS = Query(
    among(highest(_DURATION, "database", "query"), _SLOWEST, "database", "query"), "{{database}}: {{query}}"
)
OWN = Query(top(_OWN))
OWN_NOW = Query(top(_OWN, 200))
QUERY_DURATION = Query(highest(top(_DURATION, 200), "database", "query"))
QUERY_ROWS = Query(highest(among(_ROWS, top(_DURATION, 200), "database", "query"), "database", "query"))
QUERY_INTERVAL = Query(highest(among(_INTERVAL, top(_DURATION, 200), "database", "query"), "database", "query"))

_IMAGE = ("account", "registry_id", "image_namespace", "image")
_PRESENT = gauge("edge_container_image_tag_present", ACCOUNT)
TAGS = Query(top(highest(gauge("edge_container_image_tags", ACCOUNT), *_IMAGE), TOP), "{{image_namespace}}/{{image}}")
TAG_PRESENT = Query(highest(bottom(_PRESENT, 200), *_IMAGE, "tag"))

SEARCH_RESULTS = Query(
    top(highest(gauge("edge_search_results", ACCOUNT), "account", "query"), TOP), "{{query}} ({{account}})"
)
RESOURCES = Query(total(gauge("edge_resources", ACCOUNT), "resource_type"), "{{resource_type}}")
