"""Defines queries for edge scripts: cost, requests and CPU of the month and at present, and releases."""

from dashboards.generator.intervals import step_of
from dashboards.generator.page import Query
from dashboards.generator.promql import (
    ACCOUNT,
    AT_END,
    SCRIPT,
    among,
    gauge,
    highest,
    lowest,
    milliseconds,
    rate,
    ratio,
    series,
    top,
    total,
)

SCOPE = (ACCOUNT, SCRIPT)
ONE_SCRIPT = ("account", "script_id")
NAMED_SCRIPT = ("account", "script_id", "script")
TABLE_ROWS = 100

_COST = gauge("edge_script_monthly_cost_dollars", *SCOPE)
_REQUESTS = gauge("edge_script_monthly_requests", *SCOPE)
_CPU = gauge("edge_script_monthly_cpu_seconds", *SCOPE)
_BUDGET = gauge("edge_script_monthly_budget_dollars", *SCOPE)
_INFO = gauge("edge_script_info", *SCOPE)
_INFO_BEFORE = gauge("edge_script_info", *SCOPE, at=" offset 15m")

_INTO_MONTH = "((day_of_month() - 1) * 86400 + hour() * 3600 + minute() * 60)"
# The length of the month divided by the elapsed time. In the first hour of a month nothing is extrapolated: the last
# poll may still have the old month's sum, and the factor would be about a thousand.
_TO_MONTH_END = f"scalar(86400 * days_in_month() / ({_INTO_MONTH} > 3600) or vector(1))"
_PROJECTED = f"({_COST} * {_TO_MONTH_END})"

_COST_RATE = rate("edge_script_cost_dollars_total", *SCOPE)
_REQUEST_RATE = rate("edge_script_requests_total", *SCOPE)
_CPU_RATE = rate("edge_script_cpu_seconds_total", *SCOPE)

_DEAREST = top(gauge("edge_script_monthly_cost_dollars", *SCOPE, at=AT_END))
_BUSIEST = top(gauge("edge_script_monthly_requests", *SCOPE, at=AT_END))
_HUNGRIEST = top(gauge("edge_script_monthly_cpu_seconds", *SCOPE, at=AT_END))
_SHOWN = top(_COST, TABLE_ROWS)

COST = Query(total(_COST), "month to date")
PROJECTED = Query(total(_PROJECTED), "projected")
BUDGETS = Query(total(_BUDGET), "all budgets", step=step_of(_COST))
SPEND_RATE = Query(f"3600 * {total(_COST_RATE)}", "dollars an hour")
BUDGET_PROJECTED = Query(
    top(ratio(highest(_PROJECTED, *NAMED_SCRIPT), highest(_BUDGET, *ONE_SCRIPT), *ONE_SCRIPT), 20),
    "{{script}} ({{script_id}})",
)
# A budget is unmatched if no shard has a script for it.
UNMATCHED_BUDGETS = Query(
    total(lowest(series("edge_exporter_script_budget_unmatched", ACCOUNT), "account", "script")), "without a script"
)
OVER_BUDGET = Query(total(f"{ratio(_PROJECTED, highest(_BUDGET, *ONE_SCRIPT), *ONE_SCRIPT)} > bool 1"), "scripts")
REQUESTS_BY_ACCOUNT = Query(top(total(rate("edge_script_requests_total", ACCOUNT), "account"), 20), "{{account}}")
COST_A_MILLION = Query(f"1e6 * sum({_COST}) / (sum({_REQUESTS}) > 0)", "a million requests")

SPEND_OF_TOP = Query(
    among(f"3600 * {total(_COST_RATE, *NAMED_SCRIPT)}", _DEAREST, *ONE_SCRIPT), "{{script}} ({{script_id}})"
)
REQUESTS_OF_TOP = Query(among(total(_REQUEST_RATE, *NAMED_SCRIPT), _BUSIEST, *ONE_SCRIPT), "{{script}} ({{script_id}})")
CPU_OF_TOP = Query(among(total(_CPU_RATE, *NAMED_SCRIPT), _HUNGRIEST, *ONE_SCRIPT), "{{script}} ({{script_id}})")
CPU_A_REQUEST_OF_TOP = Query(
    among(f"{total(_CPU_RATE, *NAMED_SCRIPT)} / ({total(_REQUEST_RATE, *NAMED_SCRIPT)} > 0)", _HUNGRIEST, *ONE_SCRIPT),
    "{{script}} ({{script_id}})",
)
COST_A_MILLION_OF_TOP = Query(
    among(
        f"1e6 * {total(_COST_RATE, *NAMED_SCRIPT)} / ({total(_REQUEST_RATE, *NAMED_SCRIPT)} > 0)", _DEAREST, *ONE_SCRIPT
    ),
    "{{script}} ({{script_id}})",
)

ROW_COST = Query(highest(_SHOWN, *NAMED_SCRIPT))
ROW_PROJECTED = Query(highest(among(_PROJECTED, _SHOWN, *ONE_SCRIPT), *NAMED_SCRIPT))
ROW_BUDGET = Query(highest(among(_BUDGET, _SHOWN, *ONE_SCRIPT), *NAMED_SCRIPT))
ROW_OF_BUDGET = Query(
    among(ratio(highest(_PROJECTED, *NAMED_SCRIPT), highest(_BUDGET, *ONE_SCRIPT), *ONE_SCRIPT), _SHOWN, *ONE_SCRIPT)
)
ROW_REQUESTS = Query(highest(among(_REQUESTS, _SHOWN, *ONE_SCRIPT), *NAMED_SCRIPT))
ROW_CPU = Query(highest(among(_CPU, _SHOWN, *ONE_SCRIPT), *NAMED_SCRIPT))
ROW_COST_A_MILLION = Query(highest(among(f"1e6 * {_COST} / ({_REQUESTS} > 0)", _SHOWN, *ONE_SCRIPT), *NAMED_SCRIPT))
ROW_PULL_ZONES = Query(
    highest(among(gauge("edge_script_linked_pull_zones", *SCOPE), _SHOWN, *ONE_SCRIPT), *NAMED_SCRIPT)
)

_LATEST = top(gauge("edge_script_last_modified_timestamp_seconds", *SCOPE), TABLE_ROWS)
RELEASE_MODIFIED = Query(milliseconds(highest(_LATEST, *NAMED_SCRIPT)))
RELEASE_INFO = Query(
    highest(
        among(_INFO, _LATEST, *ONE_SCRIPT),
        *NAMED_SCRIPT,
        "script_type",
        "release_id",
        "repository",
        "branch",
        "default_hostname",
        "system_hostname",
    )
)
RELEASE_DELETED = Query(highest(among(gauge("edge_script_deleted", *SCOPE), _LATEST, *ONE_SCRIPT), *NAMED_SCRIPT))
RELEASE_VARIABLES = Query(among(total(gauge("edge_script_variables", *SCOPE), *NAMED_SCRIPT), _LATEST, *ONE_SCRIPT))
RELEASE_REQUIRED = Query(
    among(total(gauge("edge_script_variables", *SCOPE, 'required="true"'), *NAMED_SCRIPT), _LATEST, *ONE_SCRIPT)
)

# Scripts that existed at the offset, with another release. Steps of the same length find each change once.
RELEASES = Query(
    f"{highest(_INFO, *NAMED_SCRIPT, 'release_id')}"
    f" unless on (account, script_id, release_id) {_INFO_BEFORE}"
    f" and on (account, script_id) {_INFO_BEFORE}",
    quiet="a script's release changes",
)
