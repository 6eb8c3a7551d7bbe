"""The Exporter page's row of calls to the platform."""

from dashboards.generator.page import Column, Lines, Panel, Row, red_from, table, warn_from
from dashboards.generator.queries import exporter as queries

BUDGET = Row(
    "Platform API",
    (
        Panel(
            title="API budget",
            shows="Calls a second by account: what the lower limit of the budget allows, what targets and intervals"
            " ask for, and what is made. The accounts that ask for most of their budget.",
            act="Asked for above what is allowed: polls come late by as much. requests_per_second: raise it if the"
            " platform bears it. max_in_flight: the platform is slow; raise it, too. Or lengthen intervals, or narrow"
            " the targets.",
            queries=(queries.REQUESTS, queries.DEMAND, queries.ALLOWED),
            view=Lines(dashed=(".+: asked for", ".+: allowed by .+")),
            unit="reqps",
            width=12,
        ),
        Panel(
            title="Waiting for the budget",
            shows="Seconds a second that calls waited for the budget or for the platform's Retry-After, by"
            " account; those that ask for most of their budget.",
            act="Above 1 on average a call is always waiting: the budget is too small for what is asked.",
            queries=(queries.THROTTLED,),
            view=Lines(axis="per second"),
            unit="s",
            width=12,
        ),
        Panel(
            title="Failures now",
            shows="Failed calls a second by account, operation and reason; at most 100.",
            act="One operation with 403 is a permission that the key lacks; all operations of an account are its key.",
            queries=(queries.FAILURES_BY_ENDPOINT,),
            view=table(
                Column("Account", label="account", width=90),
                Column("Operation", label="operation"),
                Column("Reason", label="reason", width=120),
                Column("Failures", unit="reqps", steps=red_from(0.001), width=110),
                sort="Failures",
            ),
            width=12,
            none="No call failed.",
        ),
        Panel(
            title="Operations",
            shows="Calls a second, their mean duration, and how many of them repeated a failed call, by operation; the"
            " 20 most called.",
            act="Most calls: a longer interval of this collector saves most. Slowest: it decides how many calls must be"
            " in flight, as max_in_flight is rate times duration. Retries without failures were successful.",
            queries=(queries.CALLS, queries.MEAN_DURATION, queries.RETRIES),
            view=table(
                Column("Operation", label="operation"),
                Column("Calls", unit="reqps", width=115),
                Column("Duration", unit="s", width=115),
                Column("Retries", unit="reqps", steps=warn_from(0.001), width=115),
                sort="Calls",
            ),
            width=12,
        ),
        Panel(
            title="Calls by status",
            shows="Calls a second by HTTP status.",
            act="429 is the platform's own limit: lower the budget below it. 5xx is the platform's trouble.",
            queries=(queries.REQUESTS_BY_CODE,),
            view=Lines(stack=True),
            unit="reqps",
            width=8,
        ),
        Panel(
            title="Latency by share",
            shows="The time within which a half, 90 % and 99 % of the calls were answered.",
            act="99 % near the timeout of the configuration: raise the timeout, or expect failures.",
            queries=(queries.LATENCY_HALF, queries.LATENCY_NINE_TENTHS, queries.LATENCY_MOST),
            unit="s",
            width=8,
        ),
        Panel(
            title="Unexpected values",
            shows="Values within the time range that the exporter does not know, by operation and field; the 50 most.",
            act="They are served as unknown. Update the exporter; if it is the newest, report the field.",
            queries=(queries.UNEXPECTED,),
            view=table(
                Column("Operation", label="operation"),
                Column("Field", label="field"),
                Column("Values", decimals=0, steps=warn_from(1), width=110),
                sort="Values",
            ),
            width=8,
            none="Every value was known.",
        ),
    ),
)
