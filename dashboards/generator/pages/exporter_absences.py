"""The Exporter page's row of what is missing, and why."""

from dashboards.generator.page import Column, Lines, Panel, Row, table
from dashboards.generator.queries import absences as queries

ABSENCES = Row(
    "Absent families",
    (
        Panel(
            title="Absent families by cause",
            shows="Families that targets could have and have no series of, by cause; without what the configuration"
            " leaves out.",
            act="`edge-exporter explain --cause CAUSE` names each with its evidence and what to do. first_poll and"
            " discovery_incomplete pass by themselves; no_value and never_scanned are what the platform says.",
            queries=(queries.BY_CAUSE,),
            view=Lines(stack=True),
            width=12,
            none="No family is absent.",
        ),
        Panel(
            title="Absent families by collector",
            shows="The same by collector and cause, with what the configuration leaves out; another shard's targets"
            " are not among them.",
            act="A panel is empty? `edge-exporter explain FAMILY` says why, for each target.",
            queries=(queries.TABLE,),
            view=table(
                Column("Collector", label="collector"),
                Column("Cause", label="cause"),
                Column("Families", width=110),
                sort="Families",
            ),
            width=12,
            none="No family is absent.",
        ),
    ),
)
