"""Database and containers: whether databases answer, what queries of your own measure, and watched image tags."""

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
        "When each database answered, and when not.",
        "All at once: the network, or tokens that were regenerated, which ends all old ones. One alone: that database,"
        " or its token.",
        StateTimeline(words=UP_OR_DOWN, none="No database is configured."),
        Query(lowest(_UP, "database"), "{{database}}"),
    ),
    panel(
        "Query duration",
        "How long the slowest queries took, from the request to the last row.",
        "One query that slows down: its table has grown. All of them: the database, or the way to it.",
        TimeSeries(unit="s", none="No query is configured."),
        Query(among(highest(_DURATION, *_QUERY), _SLOWEST, *_QUERY), "{{database}}: {{query}}"),
    ),
    panel(
        "Queries",
        "Queries of the configuration, the slowest first; at most 200.",
        "A query that returns no row gives no series: see whether its SQL should count instead.",
        Table(sort="Took", none="No query is configured."),
        Column("Database", label="database"),
        Column("Query", label="query"),
        Column("Took", highest(_SHOWN, *_QUERY), unit="s", steps=warn_then_red(1, 5)),
        Column("Rows", highest(among(_ROWS, _SHOWN, *_QUERY), *_QUERY)),
        Column("Runs every", highest(among(_INTERVAL, _SHOWN, *_QUERY), *_QUERY), unit="s"),
    ),
    panel(
        "Your own measures",
        "What the configuration's queries measure, the largest; each is the gauge edge_database_NAME.",
        "Only you know what the values mean: write alerts on the gauge itself.",
        TimeSeries(none="No query has returned a row.", least=None),
        top(_OWN),
    ),
)

_CONTAINERS = row(
    "Containers",
    (24,),
    panel(
        "Watched tags",
        "Tags of watch_tags and whether their image has them, missing ones first; at most 200.",
        "A missing tag was deleted or renamed where the image is pushed.",
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
    about="Databases and the queries of your own, and watched image tags.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.DATABASES),
    rows=(_DATABASES, _CONTAINERS),
)
