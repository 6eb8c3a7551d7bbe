"""Edge scripts: what they cost and do, and their releases."""

from dataclasses import replace

from dashboards.generator import columns, links, marks, variables
from dashboards.generator.page import (
    YES_OR_NO,
    Bars,
    Column,
    Lines,
    Marks,
    Page,
    Panel,
    Row,
    red_from,
    table,
    warn_then_red,
)
from dashboards.generator.queries import scripts as queries
from dashboards.generator.tables import figure

_MONTH = Row(
    "This month",
    (
        figure(
            "Cost, month to date",
            "What the scripts chosen have cost since the UTC month began.",
            "Read the projection next to it: the sum alone says little before the month ends.",
            queries.COST,
            unit="currencyUSD",
        ),
        figure(
            "Projected month end",
            "The month's cost so far, extrapolated linearly to the end of the UTC month. In a month's first hour"
            " nothing is extrapolated.",
            "In the first days a single busy hour counts for much: look again a day later before acting.",
            queries.PROJECTED,
            unit="currencyUSD",
        ),
        figure(
            "Projected over budget",
            "Scripts whose projected cost exceeds their monthly_budget_dollars of the configuration.",
            "The bars below name them. Find what changed in requests, CPU a request or the release; then raise"
            " the budget or correct the script.",
            queries.OVER_BUDGET,
            of=("scripts",),
            steps=red_from(1),
            none="No budgets",
        ),
        figure(
            "Budgets unmatched",
            "Budgets of the configuration whose name or id belongs to no script.",
            "Correct the name under monthly_budget_dollars: a budget without a script has no effect.",
            queries.UNMATCHED_BUDGETS,
            of=("scripts",),
            steps=red_from(1),
            none="No budgets",
        ),
        figure(
            "Spending per hour",
            "Dollars per hour, over the last four polls.",
            "A step up at a release mark is that release.",
            queries.SPEND_RATE,
            trend=True,
            unit="currencyUSD",
            width=4,
        ),
        figure(
            "Cost per 1M requests",
            "The month's cost of a million requests, over all scripts chosen.",
            "It rises with the CPU time of a request: look for the script whose CPU a request grew.",
            queries.COST_A_MILLION,
            trend=True,
            unit="currencyUSD",
            width=4,
        ),
    ),
)

_COST = Row(
    "Cost",
    (
        Panel(
            title="Month to date and projection",
            shows="The cost so far, its linear projection, and the sum of all budgets, where there are any.",
            act="The projection should become flat during the month. A steady rise is growth; a step is a release or a"
            " surge.",
            queries=(queries.COST, queries.PROJECTED, queries.BUDGETS),
            view=Lines(dashed=("projected", "all budgets")),
            unit="currencyUSD",
            width=12,
        ),
        Panel(
            title="Projected share of the budget",
            shows="Each script's projected cost as a share of its budget; the 20 nearest or over.",
            act="Above 100 % the budget will not last: correct the script, or raise its monthly_budget_dollars.",
            queries=(queries.BUDGET_PROJECTED,),
            view=Bars(),
            unit="percentunit",
            decimals=0,
            width=12,
            steps=warn_then_red(0.8, 1),
            none="No script has a monthly_budget_dollars in the configuration.",
        ),
        Panel(
            title="Spending by script",
            shows="Dollars per hour of the most expensive scripts of this month.",
            act="Compare with requests and CPU below: cost without requests is CPU.",
            queries=(queries.SPEND_OF_TOP,),
            view=Lines(stack=True, axis="per hour"),
            unit="currencyUSD",
            width=12,
        ),
        Panel(
            title="Cost of a million requests by script",
            shows="What a million requests cost at the present rate, for the most expensive scripts of this month.",
            act="A step at a release mark: the release made each request more expensive.",
            queries=(queries.COST_A_MILLION_OF_TOP,),
            view=Lines(axis="per million requests"),
            unit="currencyUSD",
            width=12,
        ),
    ),
)

_WORK = Row(
    "Requests and CPU",
    (
        Panel(
            title="Requests by script",
            shows="Requests a second of the scripts with the most this month.",
            act="A line that falls to zero: a release that broke, or a pull zone that was unlinked. A surge of one"
            " script: look at who calls it.",
            queries=(queries.REQUESTS_OF_TOP,),
            view=Lines(stack=True),
            unit="reqps",
        ),
        Panel(
            title="CPU by script",
            shows="CPU seconds a second of the scripts with the most this month.",
            act="CPU that grows faster than requests is work that a release added.",
            queries=(queries.CPU_OF_TOP,),
            view=Lines(stack=True, axis="per second"),
            unit="s",
        ),
        Panel(
            title="CPU of a request",
            shows="CPU seconds by request at the present rate, for the scripts with the most CPU this month.",
            act="A step at a release mark: profile that release, or roll it back.",
            queries=(queries.CPU_A_REQUEST_OF_TOP,),
            view=Lines(axis="per request"),
            unit="s",
        ),
        Panel(
            title="Scripts",
            shows="The most expensive scripts of the month; at most 100.",
            act="Click a script to see it alone.",
            queries=(
                queries.ROW_COST,
                queries.ROW_PROJECTED,
                queries.ROW_BUDGET,
                queries.ROW_OF_BUDGET,
                queries.ROW_REQUESTS,
                queries.ROW_CPU,
                queries.ROW_COST_A_MILLION,
                queries.ROW_PULL_ZONES,
            ),
            view=table(
                columns.ACCOUNT,
                columns.SCRIPT_ID,
                columns.SCRIPT,
                Column("Cost", unit="currencyUSD"),
                Column("Projected", unit="currencyUSD"),
                Column("Budget", unit="currencyUSD"),
                Column("Projected of budget", unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1), width=190),
                Column("Requests"),
                Column("CPU", unit="s"),
                Column("Per 1M requests", unit="currencyUSD", width=155),
                Column("Pull zones"),
                sort="Cost",
            ),
            width=24,
            height=9,
        ),
    ),
)

_RELEASES = Row(
    "Releases",
    (
        Panel(
            title="Releases",
            shows="Scripts by when they were last modified, with the release that runs; at most 100.",
            act="Ask about a release that no one of you made. A script that is marked deleted disappears from this list"
            " with the next complete discovery.",
            queries=(
                queries.RELEASE_MODIFIED,
                queries.RELEASE_DELETED,
                queries.RELEASE_VARIABLES,
                queries.RELEASE_REQUIRED,
                queries.RELEASE_INFO,
            ),
            view=table(
                replace(columns.ACCOUNT, width=90),
                columns.SCRIPT_ID,
                replace(columns.SCRIPT, width=130),
                Column("Modified", unit="dateTimeFromNow", width=120),
                Column("Type", label="script_type", width=70),
                Column("Release", label="release_id", width=90),
                Column("Repository", label="repository"),
                Column("Branch", label="branch", width=85),
                Column("Host", label="default_hostname"),
                Column("System host", label="system_hostname"),
                Column("Deleted", words=YES_OR_NO, width=90),
                Column("Variables", width=105),
                Column("Required", width=100),
                sort="Modified",
            ),
            width=24,
            height=9,
        ),
    ),
)

PAGE = Page(
    uid=links.SCRIPTS,
    title="Edge platform / Edge scripts",
    about="Cost of the month and its projection, requests, CPU, and releases marked on every graph.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.SCRIPTS),
    rows=(_MONTH, _COST, _WORK, _RELEASES),
    since="now-2d",
    ranked=True,
    marks=(
        *marks.ON_EVERY_PAGE,
        Marks(
            name="Releases",
            query=queries.RELEASES,
            title="{{script}}: release {{release_id}}",
            text="The release of script {{script}} ({{script_id}}, account {{account}}) changed.",
            colour="purple",
        ),
    ),
)
