"""Database and containers: databases, your own queries, and watched image tags."""

from dashboards.generator import columns, links, variables
from dashboards.generator.colours import UP_OR_DOWN, Colour, Word, warn_then_red
from dashboards.generator.page import Column, Page, Query, StateTimeline, Table, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import among, bottom, highest, lowest, top
from dashboards.generator.selectors import ACCOUNT, AT_END, DATABASE, JOB, gauge

_UP = gauge("edge_database_up", DATABASE)
_DURATION = gauge("edge_database_query_duration_seconds", DATABASE)
_ROWS = gauge("edge_database_query_rows", DATABASE)
_INTERVAL = gauge("edge_database_query_interval_seconds", DATABASE)
_QUERY = ("database", "query")
_SHOWN = top(_DURATION, 200)
_SLOWEST = top(gauge("edge_database_query_duration_seconds", DATABASE, at=AT_END))
# A user's query N is the gauge edge_database_N. Its name is copied to a label, because the maximum drops the name.
_NOT_OWN = "edge_database_(up|query_(duration_seconds|rows|interval_seconds))"
_OWN_NAMES = f'__name__=~"edge_database_.+", __name__!~"{_NOT_OWN}"'
_OWN = (
    "max without (job) (max without (instance, pod) (label_replace("
    f'{{{_OWN_NAMES}, {JOB}, {DATABASE}}}, "measured", "$1", "__name__", "edge_database_(.+)")))'
)
_IMAGE = ("account", "registry_id", "image_namespace", "image")
_PRESENT = gauge("edge_container_image_tag_present", ACCOUNT)

_TAG_WORDS = (Word("1", "present", Colour.GOOD), Word("0", "MISSING", Colour.BAD))

_DATABASES = row(
    "Databases",
    (12, 12, 12, 12),
    panel(
        "Databases answering",
        "Whether each database answered, over time.",
        "If all fail at once, look at the network; or the tokens were regenerated, which invalidates all old ones. If"
        " one fails, look at that database and its token.",
        StateTimeline(words=UP_OR_DOWN, none="No database is configured."),
        Query(lowest(_UP, "database"), "{{database}}"),
    ),
    panel(
        "Query duration",
        "How long the slowest queries took, from the request to the last row.",
        "If one query becomes slower, its table may have grown. If all do, look at the database and the network.",
        TimeSeries(unit="s", none="No query is configured."),
        Query(among(highest(_DURATION, *_QUERY), _SLOWEST, *_QUERY), "{{database}}: {{query}}"),
    ),
    panel(
        "Queries",
        "Configured queries whose polls succeed, the slowest first; at most 200.",
        "A query that returns no row gives its gauge no series: use count(*) if you need a 0.",
        Table(sort="Took", none="No query is configured."),
        Column("Database", label="database"),
        Column("Query", label="query"),
        Column("Took", highest(_SHOWN, *_QUERY), unit="s", steps=warn_then_red(1, 5)),
        Column("Rows", highest(among(_ROWS, _SHOWN, *_QUERY), *_QUERY)),
        Column("Runs every", highest(among(_INTERVAL, _SHOWN, *_QUERY), *_QUERY), unit="s"),
    ),
    panel(
        "Your own measures",
        "The largest values of your own queries; each query is the gauge edge_database_NAME.",
        "Write your own alerts on these gauges.",
        TimeSeries(none="No query has returned a row.", least=None),
        top(_OWN),
    ),
)

_CONTAINERS = row(
    "Containers",
    (24,),
    panel(
        "Watched tags",
        "Whether each tag of watch_tags exists, missing ones first; at most 200.",
        "A missing tag was deleted, renamed or never pushed.",
        Table(sort="State", ascending=True, none="No tag is watched."),
        columns.ACCOUNT,
        Column("Registry", label="registry_id", width=100),
        Column("Namespace", label="image_namespace"),
        Column("Image", label="image"),
        Column("Tag", label="tag"),
        Column("State", highest(bottom(_PRESENT, 200), *_IMAGE, "tag"), words=_TAG_WORDS, width=90),
    ),
)

PAGE = Page(
    uid=links.DATABASE,
    title="Edge platform / Database and containers",
    about="Databases, your own queries, and watched image tags.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.DATABASES),
    rows=(_DATABASES, _CONTAINERS),
)
