"""The Exporter page's row of calls to the platform."""

from dashboards.generator.colours import red_from, warn_from
from dashboards.generator.page import Column, Query, Table, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import among, top, total
from dashboards.generator.selectors import ACCOUNT, AT_END, INSTANCE, own_rate, series

_API = (ACCOUNT, INSTANCE)


def _rate(name: str, *by: str) -> str:
    return total(own_rate(name, *_API), *by)


def _value(name: str, *matchers: str, by: tuple[str, ...] = ("account",), at: str = "") -> str:
    return total(series(name, *_API, *matchers, at=at), *by)


# These counters begin at 0 with the process; series of events that never happened are left out.
HAPPENED = " > 0"
_DEMAND, _CAPACITY = "edge_api_demand_requests_per_second", "edge_api_capacity_requests_per_second"
_DURATION = "edge_api_request_duration_seconds"
_MEAN_DURATION = f"{_rate(f'{_DURATION}_sum', 'operation')} / {_rate(f'{_DURATION}_count', 'operation')}"
_LATENCY = _rate(f"{_DURATION}_bucket", "le")
_RETRIES = _rate("edge_api_retries_total", "operation")
_FAILURES = _rate("edge_api_request_failures_total", "account", "operation", "reason")
_UNEXPECTED = f"increase({series('edge_api_unexpected_values_total', *_API)}[$__range])"
# Of many accounts, those that need the largest share of their budget.
_CAPACITY_AT_END = total(f"min without (limit) ({series(_CAPACITY, *_API, at=AT_END)})", "account")
_TIGHTEST = top(f"({_value(_DEMAND, at=AT_END)} / {_CAPACITY_AT_END})")
_IN_FLIGHT = _value(_CAPACITY, 'limit="max_in_flight"', by=("account", "limit"))
_BUDGET = _value("edge_api_budget_requests_per_second")
_LIMITS = f'({_IN_FLIGHT} or label_replace({_BUDGET}, "limit", "requests_per_second", "", ""))'


def _of_tightest(expr: str, legend: str) -> Query:
    return Query(among(expr, _TIGHTEST, "account"), legend)


BUDGET = row(
    "Platform API",
    (12, 12, 12, 12, 8, 8, 8),
    panel(
        "API budget",
        "Calls a second by account: what the lower limit of the budget allows, what targets and intervals"
        " ask for, and what is made. The accounts that ask for most of their budget.",
        "Asked for above what is allowed: polls come late by as much. requests_per_second: raise it if the platform"
        " bears it. max_in_flight: the platform is slow; raise it, too. Or lengthen intervals, or narrow the targets.",
        TimeSeries(unit="reqps", dashed=(".+: asked for", ".+: (?:requests_per_second|max_in_flight)")),
        _of_tightest(_rate("edge_api_requests_total", "account"), "{{account}}: made"),
        _of_tightest(_value(_DEMAND), "{{account}}: asked for"),
        _of_tightest(f"bottomk by (account) (1, {_LIMITS})", "{{account}}: {{limit}}"),
    ),
    panel(
        "Waiting for the budget",
        "Seconds a second that calls waited for the budget or for the platform's Retry-After, by"
        " account; those that ask for most of their budget.",
        "Above 1 on average a call is always waiting: the budget is too small for what is asked.",
        TimeSeries(unit="s", axis="per second"),
        _of_tightest(_rate("edge_api_throttled_seconds_total", "account"), "{{account}}"),
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
            Query(top(f"({_FAILURES}{HAPPENED})", 100), quiet="a platform call fails"),
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
        Column("Calls", top(_rate("edge_api_requests_total", "operation"), 20), unit="reqps", width=115),
        Column("Duration", _MEAN_DURATION, unit="s", width=115),
        Column("Retries", _RETRIES, unit="reqps", steps=warn_from(0.001), width=115),
    ),
    panel(
        "Calls by status",
        "Calls a second by HTTP status.",
        "429 is the platform's own limit: lower the budget below it. 5xx is the platform's trouble.",
        TimeSeries(unit="reqps", stack=True),
        Query(_rate("edge_api_requests_total", "code"), "{{code}}"),
    ),
    panel(
        "Latency by share",
        "The time within which a half, 90 % and 99 % of the calls were answered.",
        "99 % near the timeout of the configuration: raise the timeout, or expect failures.",
        TimeSeries(unit="s"),
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
                top(total(_UNEXPECTED, "operation", "field"), 50),
                quiet="the platform sends a value that the interface document does not list",
            ),
            decimals=0,
            steps=warn_from(1),
            width=110,
        ),
    ),
)
