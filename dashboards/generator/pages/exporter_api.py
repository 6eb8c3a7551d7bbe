"""The Exporter page's row of calls to the platform."""

from dashboards.generator.page import Column, Lines, Query, Table, red_from, warn_from
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import ACCOUNT, AT_END, INSTANCE, among, own_rate, series, top, total

API = (ACCOUNT, INSTANCE)
TABLE_ROWS = 100
# These counters begin at 0 with the process; series of events that never happened are left out.
HAPPENED = " > 0"
_A_FAILURE = "a platform call fails"
_FAILURES = total(own_rate("edge_api_request_failures_total", *API), "account", "operation", "reason")
_LATENCY = total(own_rate("edge_api_request_duration_seconds_bucket", *API), "le")
_CAPACITY_AT_END = series("edge_api_capacity_requests_per_second", *API, at=AT_END)
# Of many accounts, those that need the largest share of their budget.
_TIGHTEST = top(
    f"({total(series('edge_api_demand_requests_per_second', *API, at=AT_END), 'account')}"
    f" / {total(f'min without (limit) ({_CAPACITY_AT_END})', 'account')})"
)
_IN_FLIGHT = total(series("edge_api_capacity_requests_per_second", *API, 'limit="max_in_flight"'), "account", "limit")
_BUDGET = total(series("edge_api_budget_requests_per_second", *API), "account")
_LIMITS = f'({_IN_FLIGHT} or label_replace({_BUDGET}, "limit", "requests_per_second", "", ""))'

BUDGET = row(
    "Platform API",
    (12, 12, 12, 12, 8, 8, 8),
    panel(
        "API budget",
        "Calls a second by account: what the lower limit of the budget allows, what targets and intervals"
        " ask for, and what is made. The accounts that ask for most of their budget.",
        "Asked for above what is allowed: polls come late by as much. requests_per_second: raise it if the"
        " platform bears it. max_in_flight: the platform is slow; raise it, too. Or lengthen intervals, or narrow"
        " the targets.",
        Lines(unit="reqps", dashed=(".+: asked for", ".+: allowed by .+")),
        Query(
            among(total(own_rate("edge_api_requests_total", *API), "account"), _TIGHTEST, "account"),
            "{{account}}: made",
        ),
        Query(
            among(total(series("edge_api_demand_requests_per_second", *API), "account"), _TIGHTEST, "account"),
            "{{account}}: asked for",
        ),
        Query(among(f"bottomk by (account) (1, {_LIMITS})", _TIGHTEST, "account"), "{{account}}: allowed by {{limit}}"),
    ),
    panel(
        "Waiting for the budget",
        "Seconds a second that calls waited for the budget or for the platform's Retry-After, by"
        " account; those that ask for most of their budget.",
        "Above 1 on average a call is always waiting: the budget is too small for what is asked.",
        Lines(unit="s", axis="per second"),
        Query(
            among(total(own_rate("edge_api_throttled_seconds_total", *API), "account"), _TIGHTEST, "account"),
            "{{account}}",
        ),
    ),
    panel(
        "Failures now",
        "Failed calls a second by account, operation and reason; at most 100.",
        "One operation with 403 is a permission that the key lacks; all operations of an account are its key.",
        Table(sort="Failures", none="No call failed."),
        Column("Account", label="account", width=90),
        Column("Operation", label="operation"),
        Column("Reason", label="reason", width=120),
        Column(
            "Failures",
            Query(top(f"({_FAILURES}{HAPPENED})", TABLE_ROWS), quiet=_A_FAILURE),
            unit="reqps",
            steps=red_from(0.001),
            width=110,
        ),
    ),
    panel(
        "Operations",
        "Calls a second, their mean duration, and how many of them repeated a failed call, by operation; the"
        " 20 most called.",
        "Most calls: a longer interval of this collector saves most. Slowest: it decides how many calls must be"
        " in flight, as max_in_flight is rate times duration. Retries without failures were successful.",
        Table(sort="Calls"),
        Column("Operation", label="operation"),
        Column(
            "Calls", top(total(own_rate("edge_api_requests_total", *API), "operation"), 20), unit="reqps", width=115
        ),
        Column(
            "Duration",
            f"{total(own_rate('edge_api_request_duration_seconds_sum', *API), 'operation')}"
            f" / {total(own_rate('edge_api_request_duration_seconds_count', *API), 'operation')}",
            unit="s",
            width=115,
        ),
        Column(
            "Retries",
            total(own_rate("edge_api_retries_total", *API), "operation"),
            unit="reqps",
            steps=warn_from(0.001),
            width=115,
        ),
    ),
    panel(
        "Calls by status",
        "Calls a second by HTTP status.",
        "429 is the platform's own limit: lower the budget below it. 5xx is the platform's trouble.",
        Lines(unit="reqps", stack=True),
        Query(total(own_rate("edge_api_requests_total", *API), "code"), "{{code}}"),
    ),
    panel(
        "Latency by share",
        "The time within which a half, 90 % and 99 % of the calls were answered.",
        "99 % near the timeout of the configuration: raise the timeout, or expect failures.",
        Lines(unit="s"),
        Query(f"histogram_quantile(0.5, {_LATENCY})", "half of the calls"),
        Query(f"histogram_quantile(0.9, {_LATENCY})", "90 %"),
        Query(f"histogram_quantile(0.99, {_LATENCY})", "99 %"),
    ),
    panel(
        "Unexpected values",
        "Values within the time range that the exporter does not know, by operation and field; the 50 most.",
        "They are served as unknown. Update the exporter; if it is the newest, report the field.",
        Table(sort="Values", none="Every value was known."),
        Column("Operation", label="operation"),
        Column("Field", label="field"),
        Column(
            "Values",
            Query(
                top(
                    total(
                        f"increase({series('edge_api_unexpected_values_total', *API)}[$__range])", "operation", "field"
                    ),
                    50,
                ),
                quiet="the platform sends a value that the interface document does not list",
            ),
            decimals=0,
            steps=warn_from(1),
            width=110,
        ),
    ),
)
