"""Database and containers: whether databases answer, what queries of your own measure, and watched image tags."""

from dashboards.generator import columns, links, marks, variables
from dashboards.generator.page import (
    UP_OR_DOWN,
    Colour,
    Column,
    Lines,
    Page,
    Panel,
    Row,
    Timeline,
    Word,
    red_from,
    table,
    warn_then_red,
)
from dashboards.generator.queries import database as queries
from dashboards.generator.tables import figure

_PRESENT = (Word("1", "present", Colour.GOOD), Word("0", "MISSING", Colour.BAD))

_DATABASES = Row(
    "Databases",
    (
        figure(
            "Databases down",
            "Databases that did not answer their last poll.",
            "Regenerating tokens invalidates all old ones: first check whether the token was replaced, then"
            " whether the database still exists.",
            queries.DATABASES_DOWN,
            of=("database",),
            steps=red_from(1),
            none="No databases",
            height=8,
        ),
        Panel(
            title="Databases answering",
            shows="When each database answered, and when not.",
            act="All at once: the network, or tokens that were regenerated. One alone: that database, or its token.",
            queries=(queries.UP,),
            view=Timeline(),
            width=8,
            words=UP_OR_DOWN,
        ),
        Panel(
            title="Query duration",
            shows="How long the slowest queries took, from the request to the last row.",
            act="One query that slows down: its table has grown. All of them: the database, or the way to it.",
            queries=(queries.DURATIONS,),
            unit="s",
            width=12,
        ),
        Panel(
            title="Queries",
            shows="Queries of the configuration, the slowest first; at most 200.",
            act="A query that returns no row gives no series: see whether its SQL should count instead.",
            queries=(queries.QUERY_DURATION, queries.QUERY_ROWS, queries.QUERY_INTERVAL),
            view=table(
                Column("Database", label="database"),
                Column("Query", label="query"),
                Column("Took", unit="s", steps=warn_then_red(1, 5)),
                Column("Rows"),
                Column("Runs every", unit="s"),
                sort="Took",
            ),
            width=24,
            none="No query is configured.",
        ),
        Panel(
            title="Your own measures",
            shows="What the configuration's queries measure, the largest; each is the gauge edge_database_NAME.",
            act="Only you know what the values mean: write alerts on the gauge itself.",
            queries=(queries.OWN,),
            view=Lines(least=None),
            width=12,
            none="No query has returned a row.",
        ),
        Panel(
            title="Your own measures now",
            shows="What the configuration's queries measure, with all labels; at most 200.",
            act="A row that is missing was not returned by its query.",
            queries=(queries.OWN_NOW,),
            view=table(
                sort="Value",
            ),
            width=12,
            none="No query has returned a row.",
        ),
    ),
)

_CONTAINERS = Row(
    "Containers, searches and resources",
    (
        Panel(
            title="Watched tags",
            shows="Tags of watch_tags and whether their image has them, missing ones first; at most 200.",
            act="A missing tag was deleted or renamed where the image is pushed.",
            queries=(queries.TAG_PRESENT,),
            view=table(
                columns.ACCOUNT,
                Column("Registry", label="registry_id", width=100),
                Column("Namespace", label="image_namespace"),
                Column("Image", label="image"),
                Column("Tag", label="tag"),
                Column("State", words=_PRESENT, width=90),
                sort="State",
                ascending=True,
            ),
            width=16,
            none="No tag is watched.",
        ),
        Panel(
            title="Tags by image",
            shows="How many tags each image of the configuration has.",
            act="A step down is a clean-up: check that no deployment pulls a removed tag.",
            queries=(queries.TAGS,),
            none="No image is configured.",
        ),
        Panel(
            title="Search results",
            shows="How many results each search of the configuration has.",
            act="A step means that resources with that name were added or removed.",
            queries=(queries.SEARCH_RESULTS,),
            width=12,
            none="No search is configured.",
        ),
        Panel(
            title="Resources over time",
            shows="What the accounts hold, by type, as discovery's search counts it.",
            act="A step down without a change of yours: something was deleted.",
            queries=(queries.RESOURCES,),
            width=12,
        ),
    ),
)

PAGE = Page(
    uid=links.DATABASE,
    title="Edge platform / Database and containers",
    about="Databases and the queries of your own, watched image tags, searches and resources.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.DATABASES),
    rows=(_DATABASES, _CONTAINERS),
    ranked=True,
    marks=marks.ON_EVERY_PAGE,
)
