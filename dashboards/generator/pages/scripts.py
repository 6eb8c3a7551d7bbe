"""Edge scripts: what they cost and do, and their releases."""

from dataclasses import replace

from dashboards.generator import annotations, columns, links, variables
from dashboards.generator.colours import YES_OR_NO, red_from, warn_then_red
from dashboards.generator.intervals import step_of
from dashboards.generator.page import Annotation, BarGauge, Column, Page, Query, Stat, Table, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import lowest, top, total
from dashboards.generator.selectors import ACCOUNT, AT_END, SCRIPT, series
from dashboards.generator.things import Things

_SCRIPTS = Things((ACCOUNT, SCRIPT), ("account", "script_id"), ("account", "script_id", "script"))
_LEGEND = "{{script}} ({{script_id}})"
TABLE_ROWS = 100
_COST = _SCRIPTS.gauge("edge_script_monthly_cost_dollars")
_REQUESTS = _SCRIPTS.gauge("edge_script_monthly_requests")
_CPU = _SCRIPTS.gauge("edge_script_monthly_cpu_seconds")
_BUDGET = _SCRIPTS.gauge("edge_script_monthly_budget_dollars")
_INFO = _SCRIPTS.gauge("edge_script_info")
_INFO_BEFORE = _SCRIPTS.gauge("edge_script_info", at=" offset 15m")
_INTO_MONTH = "((day_of_month() - 1) * 86400 + hour() * 3600 + minute() * 60)"
# The length of the month divided by the elapsed time. In the first hour of a month nothing is extrapolated: the last
# poll may still have the old month's sum, and the factor would be about a thousand.
_TO_MONTH_END = f"scalar(86400 * days_in_month() / ({_INTO_MONTH} > 3600) or vector(1))"
_PROJECTED = f"({_COST} * {_TO_MONTH_END})"
_OF_BUDGET = _SCRIPTS.ratio(_SCRIPTS.highest(_PROJECTED), _SCRIPTS.each(_BUDGET))
_COST_RATE = _SCRIPTS.rate("edge_script_cost_dollars_total")
_REQUEST_RATE = _SCRIPTS.rate("edge_script_requests_total")
_CPU_RATE = _SCRIPTS.rate("edge_script_cpu_seconds_total")
_DEAREST = top(_SCRIPTS.gauge("edge_script_monthly_cost_dollars", at=AT_END))
_BUSIEST = top(_SCRIPTS.gauge("edge_script_monthly_requests", at=AT_END))
_HUNGRIEST = top(_SCRIPTS.gauge("edge_script_monthly_cpu_seconds", at=AT_END))
_SHOWN = top(_COST, TABLE_ROWS)
COST = Query(total(_COST), "month to date")
PROJECTED = Query(total(_PROJECTED), "projected")
_OF_RELEASE = ("script_type", "release_id", "repository", "branch", "default_hostname", "system_hostname")
_LATEST = top(_SCRIPTS.gauge("edge_script_last_modified_timestamp_seconds"), TABLE_ROWS)

_MONTH = row(
    "This month",
    (4, 4, 4, 4, 4, 4),
    panel(
        "Cost, month to date",
        "What the scripts chosen have cost since the UTC month began.",
        "Read the projection next to it: the sum alone says little before the month ends.",
        Stat(unit="currencyUSD"),
        COST,
    ),
    panel(
        "Projected month end",
        "The month's cost so far, extrapolated linearly to the end of the UTC month. In a month's first hour"
        " nothing is extrapolated.",
        "In the first days a single busy hour counts for much: look again a day later before acting.",
        Stat(unit="currencyUSD"),
        PROJECTED,
    ),
    panel(
        "Projected over budget",
        "Scripts whose projected cost exceeds their monthly_budget_dollars of the configuration.",
        "The bars below name them. Find what changed in requests, CPU a request or the release; then raise"
        " the budget or correct the script.",
        Stat(of=("scripts",), steps=red_from(1), none="No budgets"),
        Query(total(f"{_SCRIPTS.ratio(_PROJECTED, _SCRIPTS.each(_BUDGET))} > bool 1"), "scripts"),
    ),
    panel(
        "Budgets unmatched",
        "Budgets of the configuration whose name or id belongs to no script.",
        "Correct the name under monthly_budget_dollars: a budget without a script has no effect.",
        Stat(of=("scripts",), steps=red_from(1), none="No budgets"),
        # A budget is unmatched if no shard has a script for it.
        Query(
            total(lowest(series("edge_exporter_script_budget_unmatched", ACCOUNT), "account", "script")),
            "without a script",
        ),
    ),
    panel(
        "Spending per hour",
        "Dollars per hour, over the last four polls.",
        "A step up at a release mark is that release.",
        Stat(trend=True, unit="currencyUSD"),
        Query(f"3600 * {total(_COST_RATE)}", "dollars an hour"),
    ),
    panel(
        "Cost per 1M requests",
        "The month's cost of a million requests, over all scripts chosen.",
        "It rises with the CPU time of a request: look for the script whose CPU a request grew.",
        Stat(trend=True, unit="currencyUSD"),
        Query(f"1e6 * sum({_COST}) / (sum({_REQUESTS}) > 0)", "a million requests"),
    ),
)

_COSTS = row(
    "Cost",
    (12, 12, 12, 12),
    panel(
        "Month to date and projection",
        "The cost so far, its linear projection, and the sum of all budgets, where there are any.",
        "The projection should become flat during the month. A steady rise is growth; a step is a release or a surge.",
        TimeSeries(unit="currencyUSD", dashed=("projected", "all budgets")),
        COST,
        PROJECTED,
        Query(total(_BUDGET), "all budgets", step=step_of(_COST)),
    ),
    panel(
        "Projected share of the budget",
        "Each script's projected cost as a share of its budget; the 20 nearest or over.",
        "Above 100 % the budget will not last: correct the script, or raise its monthly_budget_dollars.",
        BarGauge(
            unit="percentunit",
            decimals=0,
            steps=warn_then_red(0.8, 1),
            none="No script has a monthly_budget_dollars in the configuration.",
        ),
        Query(top(_OF_BUDGET, 20), _LEGEND),
    ),
    panel(
        "Spending by script",
        "Dollars per hour of the most expensive scripts of this month.",
        "Compare with requests and CPU below: cost without requests is CPU.",
        TimeSeries(unit="currencyUSD", stack=True, axis="per hour"),
        Query(_SCRIPTS.among(f"3600 * {_SCRIPTS.total(_COST_RATE)}", _DEAREST), _LEGEND),
    ),
    panel(
        "Cost of a million requests by script",
        "What a million requests cost at the present rate, for the most expensive scripts of this month.",
        "A step at a release mark: the release made each request more expensive.",
        TimeSeries(unit="currencyUSD", axis="per million requests"),
        Query(
            _SCRIPTS.among(f"1e6 * {_SCRIPTS.total(_COST_RATE)} / ({_SCRIPTS.total(_REQUEST_RATE)} > 0)", _DEAREST),
            _LEGEND,
        ),
    ),
)

_WORK = row(
    "Requests and CPU",
    (8, 8, 8, 24),
    panel(
        "Requests by script",
        "Requests a second of the scripts with the most this month.",
        "A line that falls to zero: a release that broke, or a pull zone that was unlinked. A surge of one"
        " script: look at who calls it.",
        TimeSeries(unit="reqps", stack=True),
        Query(_SCRIPTS.among(_SCRIPTS.total(_REQUEST_RATE), _BUSIEST), _LEGEND),
    ),
    panel(
        "CPU by script",
        "CPU seconds a second of the scripts with the most this month.",
        "CPU that grows faster than requests is work that a release added.",
        TimeSeries(unit="s", stack=True, axis="per second"),
        Query(_SCRIPTS.among(_SCRIPTS.total(_CPU_RATE), _HUNGRIEST), _LEGEND),
    ),
    panel(
        "CPU of a request",
        "CPU seconds by request at the present rate, for the scripts with the most CPU this month.",
        "A step at a release mark: profile that release, or roll it back.",
        TimeSeries(unit="s", axis="per request"),
        Query(
            _SCRIPTS.among(f"{_SCRIPTS.total(_CPU_RATE)} / ({_SCRIPTS.total(_REQUEST_RATE)} > 0)", _HUNGRIEST), _LEGEND
        ),
    ),
    panel(
        "Scripts",
        "The most expensive scripts of the month; at most 100.",
        "Click a script to see it alone.",
        Table(sort="Cost", height=9),
        *columns.OF_SCRIPT,
        Column("Cost", _SCRIPTS.highest(_SHOWN), unit="currencyUSD"),
        Column("Projected", _SCRIPTS.ranked(_PROJECTED, _SHOWN), unit="currencyUSD"),
        Column("Budget", _SCRIPTS.ranked(_BUDGET, _SHOWN), unit="currencyUSD"),
        columns.share("Projected of budget", _SCRIPTS.among(_OF_BUDGET, _SHOWN), width=190),
        Column("Requests", _SCRIPTS.ranked(_REQUESTS, _SHOWN)),
        Column("CPU", _SCRIPTS.ranked(_CPU, _SHOWN), unit="s"),
        Column(
            "Per 1M requests",
            _SCRIPTS.ranked(f"1e6 * {_COST} / ({_REQUESTS} > 0)", _SHOWN),
            unit="currencyUSD",
            width=155,
        ),
        Column("Pull zones", _SCRIPTS.ranked(_SCRIPTS.gauge("edge_script_linked_pull_zones"), _SHOWN)),
    ),
)

_RELEASES = row(
    "Releases",
    (24,),
    panel(
        "Releases",
        "Scripts by when they were last modified, with the release that runs; at most 100.",
        "Ask about a release that no one of you made. A script that is marked deleted disappears from this list"
        " with the next complete discovery.",
        Table(sort="Modified", height=9),
        replace(columns.ACCOUNT, width=90),
        columns.SCRIPT_ID,
        replace(columns.SCRIPT, width=130),
        columns.moment("Modified", _SCRIPTS.highest(_LATEST), width=120),
        Column("Type", label="script_type", width=70),
        Column("Release", label="release_id", width=90),
        Column("Repository", label="repository"),
        Column("Branch", label="branch", width=85),
        Column("Host", label="default_hostname"),
        Column("System host", label="system_hostname"),
        Column("Deleted", _SCRIPTS.ranked(_SCRIPTS.gauge("edge_script_deleted"), _LATEST), words=YES_OR_NO, width=90),
        Column(
            "Variables", _SCRIPTS.among(_SCRIPTS.total(_SCRIPTS.gauge("edge_script_variables")), _LATEST), width=105
        ),
        Column(
            "Required",
            _SCRIPTS.among(_SCRIPTS.total(_SCRIPTS.gauge("edge_script_variables", 'required="true"')), _LATEST),
            width=100,
        ),
        Query(_SCRIPTS.ranked(_INFO, _LATEST, *_OF_RELEASE)),
    ),
)

PAGE = Page(
    uid=links.SCRIPTS,
    title="Edge platform / Edge scripts",
    about="Cost of the month and its projection, requests, CPU, and releases marked on every graph.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.SCRIPTS),
    rows=(_MONTH, _COSTS, _WORK, _RELEASES),
    since="now-2d",
    ranked=True,
    annotations=(
        *annotations.ON_EVERY_PAGE,
        Annotation(
            name="Releases",
            query=Query(
                f"{_SCRIPTS.highest(_INFO, 'release_id')}"
                f" unless on (account, script_id, release_id) {_INFO_BEFORE}"
                f" and on (account, script_id) {_INFO_BEFORE}",
                quiet="a script's release changes",
            ),
            title="{{script}}: release {{release_id}}",
            text="The release of script {{script}} ({{script_id}}, account {{account}}) changed.",
            colour="purple",
        ),
    ),
)
