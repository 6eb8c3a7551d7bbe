"""Edge scripts: their cost, requests, CPU time and releases."""

from dataclasses import replace

from dashboards.generator import columns, links, variables
from dashboards.generator.colours import YES_OR_NO
from dashboards.generator.intervals import step_of
from dashboards.generator.page import Annotation, Column, Page, Query, Stat, Table, Tile, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import lowest, top, total
from dashboards.generator.queries.figures import SILENT, old_data
from dashboards.generator.selectors import ACCOUNT, AT_END, SCRIPT, series
from dashboards.generator.target_series import TargetSeries

_SCRIPTS = TargetSeries((ACCOUNT, SCRIPT), ("account", "script_id"), ("account", "script_id", "script"))
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
_OF_RELEASE = ("script_type", "release_id", "repository", "branch", "default_hostname", "system_hostname")
_LATEST = top(_SCRIPTS.gauge("edge_script_last_modified_timestamp_seconds"), TABLE_ROWS)

_MONTH = row(
    "This month",
    (6, 6, 6, 6),
    panel(
        "Cost, month to date",
        "The cost of the chosen scripts since the UTC month began.",
        "Compare with the projection next to it.",
        Stat(unit="currencyUSD"),
        total(_COST),
    ),
    panel(
        "Projected month end",
        "The cost so far, extrapolated linearly to the end of the UTC month; in the first hour, the cost itself.",
        "In the first days of a month, a single busy hour has a large effect: look again a day later.",
        Stat(unit="currencyUSD"),
        total(_PROJECTED),
    ),
    panel(
        "Projected over budget",
        "Scripts whose projected cost exceeds their monthly_budget_dollars in the configuration.",
        "The table of scripts names them. Find what changed in requests, CPU or the release; then correct the script or"
        " raise the budget.",
        Tile(unknown=(SILENT, old_data("scripts")), none="no budgets"),
        total(f"{_SCRIPTS.ratio(_PROJECTED, _SCRIPTS.each(_BUDGET))} > bool 1"),
    ),
    panel(
        "Budgets unmatched",
        "Budgets in the configuration whose name or id no polled script has.",
        "Correct the name under monthly_budget_dollars: a budget without a script has no effect.",
        Tile(unknown=(SILENT, old_data("scripts")), none="no budgets"),
        # A budget is unmatched if no shard has a script for it.
        total(lowest(series("edge_exporter_script_budget_unmatched", ACCOUNT), "account", "script")),
    ),
)

_WORK = row(
    "Cost, requests and CPU",
    (12, 12, 8, 8, 8, 24),
    panel(
        "Month to date and projection",
        "The cost so far, its linear projection, and the sum of all budgets, if there are any.",
        "The projection should become flat during the month. If it rises steadily, the traffic grows; a step may"
        " be a release or a surge.",
        TimeSeries(unit="currencyUSD", dashed=("projected", "all budgets")),
        Query(total(_COST), "month to date"),
        Query(total(_PROJECTED), "projected"),
        Query(total(_BUDGET), "all budgets", step=step_of(_COST)),
    ),
    panel(
        "Spending by script",
        "Dollars per hour of the most expensive scripts of this month.",
        "Compare with requests and CPU below: if the cost rises without requests, look at the CPU time.",
        TimeSeries(unit="currencyUSD", stack=True, axis="per hour"),
        Query(_SCRIPTS.among(f"3600 * {_SCRIPTS.total(_COST_RATE)}", _DEAREST), _LEGEND),
    ),
    panel(
        "Requests by script",
        "Requests a second of the scripts with the most requests this month.",
        "If a script falls to zero, look for a broken release or an unlinked pull zone. If it surges, find out who"
        " calls it.",
        TimeSeries(unit="reqps", stack=True),
        Query(_SCRIPTS.among(_SCRIPTS.total(_REQUEST_RATE), _BUSIEST), _LEGEND),
    ),
    panel(
        "CPU by script",
        "CPU seconds a second of the scripts with the most CPU time this month.",
        "If CPU time grows faster than requests, a release may have added work.",
        TimeSeries(unit="s", stack=True, axis="per second"),
        Query(_SCRIPTS.among(_SCRIPTS.total(_CPU_RATE), _HUNGRIEST), _LEGEND),
    ),
    panel(
        "CPU of a request",
        "CPU seconds of a request at the present rate, for the scripts with the most CPU time this month.",
        "If it rises at the mark of a release, profile that release or roll it back.",
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
        "The scripts that were modified last, with the release that runs; at most 100.",
        "Find out who made a release that you do not know.",
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
    rows=(_MONTH, _WORK, _RELEASES),
    since="now-2d",
    annotations=(
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
