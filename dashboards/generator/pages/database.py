"""Database and containers: whether databases answer, what queries of your own measure, and watched image tags."""

from dashboards.generator import annotations, columns, links, variables
from dashboards.generator.colours import UP_OR_DOWN, Colour, Word, red_from, warn_then_red
from dashboards.generator.page import Column, Page, Query, Stat, StateTimeline, Table, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import TOP, among, bottom, highest, lowest, top, total
from dashboards.generator.selectors import ACCOUNT, AT_END, DATABASE, JOB, gauge

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
_IMAGE = ("account", "registry_id", "image_namespace", "image")
_PRESENT = gauge("edge_container_image_tag_present", ACCOUNT)

_TAG_WORDS = (Word("1", "present", Colour.GOOD), Word("0", "MISSING", Colour.BAD))

_DATABASES = row(
    "Databases",
    (4, 8, 12, 24, 12, 12),
    panel(
        "Databases down",
        "Databases that did not answer their last poll.",
        "Regenerating tokens invalidates all old ones: first check whether the token was replaced, then"
        " whether the database still exists.",
        Stat(of=("database",), steps=red_from(1), none="No databases", height=8),
        Query(total(f"{_UP} == bool 0"), "databases"),
    ),
    panel(
        "Databases answering",
        "When each database answered, and when not.",
        "All at once: the network, or tokens that were regenerated. One alone: that database, or its token.",
        StateTimeline(words=UP_OR_DOWN),
        Query(lowest(_UP, "database"), "{{database}}"),
    ),
    panel(
        "Query duration",
        "How long the slowest queries took, from the request to the last row.",
        "One query that slows down: its table has grown. All of them: the database, or the way to it.",
        TimeSeries(unit="s"),
        Query(among(highest(_DURATION, "database", "query"), _SLOWEST, "database", "query"), "{{database}}: {{query}}"),
    ),
    panel(
        "Queries",
        "Queries of the configuration, the slowest first; at most 200.",
        "A query that returns no row gives no series: see whether its SQL should count instead.",
        Table(sort="Took", none="No query is configured."),
        Column("Database", label="database"),
        Column("Query", label="query"),
        Column("Took", highest(top(_DURATION, 200), "database", "query"), unit="s", steps=warn_then_red(1, 5)),
        Column("Rows", highest(among(_ROWS, top(_DURATION, 200), "database", "query"), "database", "query")),
        Column(
            "Runs every",
            highest(among(_INTERVAL, top(_DURATION, 200), "database", "query"), "database", "query"),
            unit="s",
        ),
    ),
    panel(
        "Your own measures",
        "What the configuration's queries measure, the largest; each is the gauge edge_database_NAME.",
        "Only you know what the values mean: write alerts on the gauge itself.",
        TimeSeries(none="No query has returned a row.", least=None),
        Query(top(_OWN)),
    ),
    panel(
        "Your own measures now",
        "What the configuration's queries measure, with all labels; at most 200.",
        "A row that is missing was not returned by its query.",
        Table(sort="Value", none="No query has returned a row."),
        Query(top(_OWN, 200)),
    ),
)

_CONTAINERS = row(
    "Containers and searches",
    (16, 8, 24),
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
    panel(
        "Tags by image",
        "How many tags each image of the configuration has.",
        "A step down is a clean-up: check that no deployment pulls a removed tag.",
        TimeSeries(none="No image is configured."),
        Query(top(highest(gauge("edge_container_image_tags", ACCOUNT), *_IMAGE), TOP), "{{image_namespace}}/{{image}}"),
    ),
    panel(
        "Search results",
        "How many results each search of the configuration has.",
        "A step means that resources with that name were added or removed.",
        TimeSeries(none="No search is configured."),
        Query(top(highest(gauge("edge_search_results", ACCOUNT), "account", "query"), TOP), "{{query}} ({{account}})"),
    ),
)

PAGE = Page(
    uid=links.DATABASE,
    title="Edge platform / Database and containers",
    about="Databases and the queries of your own, watched image tags and searches.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.DATABASES),
    rows=(_DATABASES, _CONTAINERS),
    ranked=True,
    annotations=annotations.ON_EVERY_PAGE,
)
