"""Overview: is anything wrong, and where to look."""

from dashboards.generator import columns, links, variables
from dashboards.generator.page import (
    ACTION_PAINT,
    NEUTRAL,
    PLAIN,
    SEVERITY_PAINT,
    UP_OR_DOWN,
    Bars,
    Colour,
    Column,
    Lines,
    Numbers,
    Page,
    Panel,
    Row,
    Table,
    Timeline,
    Word,
    red_from,
    warn_then_red,
)
from dashboards.generator.queries import database, dns, scripts, shield
from dashboards.generator.queries import overview as queries

_NOW = Row(
    "Now",
    (
        Panel(
            title="Accounts not answering",
            shows="Accounts from which no authenticated answer came within the last interval, on any one shard.",
            act="Open the account on the Exporter page: 401 or 403 among its codes means that the key was refused or"
            " replaced; time-outs mean that the platform or the way to it is down.",
            queries=(queries.ACCOUNTS_DOWN,),
            view=Numbers(),
            width=4,
            height=4,
            steps=red_from(1),
        ),
        Panel(
            title="Targets failing",
            shows="Targets whose last poll failed. Each keeps its last values for three intervals; then they go.",
            act="Read the table of failing targets below: many of one account or collector have one cause, a single"
            " one is most often deleted or forbidden to the key.",
            queries=(queries.TARGETS_FAILING,),
            view=Numbers(),
            width=4,
            height=4,
            steps=red_from(1),
        ),
        Panel(
            title="Alerts firing",
            shows="Alerts of the shipped rules that fire now.",
            act="Read the table of alerts below; each alert's runbook link says how to confirm it and what to do.",
            queries=(queries.ALERTS_FIRING,),
            view=Numbers(),
            width=4,
            height=4,
            steps=red_from(1),
        ),
        Panel(
            title="Longest without success",
            shows="The time since the last success of the target that has waited longest.",
            act="Past three intervals of its collector a target's series are gone, so graphs and alerts on it are"
            " blind. Find it in the table of failing targets.",
            queries=(queries.LONGEST_WITHOUT,),
            view=Numbers(),
            unit="s",
            width=4,
            height=4,
            steps=warn_then_red(1800, 2700),
        ),
        Panel(
            title="API budget asked for",
            shows="What targets and intervals ask of an account, as a share of what the lower limit of its request"
            " budget allows: requests_per_second, or max_in_flight while the platform is slow; the worst account.",
            act="Above 100 % polls come late by as much as it exceeds. Raise the limit that binds, lengthen intervals,"
            " or narrow the account's targets by include and exclude.",
            queries=(queries.BUDGET_ASKED,),
            view=Numbers(),
            unit="percentunit",
            decimals=0,
            width=4,
            height=4,
            steps=warn_then_red(0.8, 1),
        ),
        Panel(
            title="Targets polled",
            shows="All targets that are polled, over all accounts and collectors.",
            act="A sudden fall means that discovery lost them: compare with what the accounts hold, further below.",
            queries=(queries.TARGETS,),
            view=Numbers(trend=True),
            width=4,
            height=4,
            steps=NEUTRAL,
        ),
    ),
)

_FAILING = Row(
    "What is failing",
    (
        Panel(
            title="Failing targets",
            shows="Targets whose last poll failed, the longest without success first; at most 100.",
            act="Follow the account to its failures by reason. A target that was never polled with success is most"
            " often a wrong id or one that the key may not read: `edge-exporter check` tries it at once.",
            queries=(queries.FAILING,),
            view=Table(
                columns=(
                    columns.ACCOUNT,
                    Column("Collector", label="collector", width=170),
                    Column("Target", label="target"),
                    Column("Name", label="name"),
                    Column(
                        "Without success",
                        width=125,
                        unit="s",
                        steps=warn_then_red(0, 2700),
                        words=(Word("-1", "never succeeded", Colour.BAD),),
                    ),
                ),
                sort="Without success",
            ),
            width=11,
            none="Nothing is failing.",
        ),
        Panel(
            title="Alerts",
            shows="Alerts of the shipped rules, pending and firing; at most 100.",
            act="Open the alert in Alertmanager and follow its runbook link. Pending ones fire if they last.",
            queries=(queries.ALERTS,),
            view=Table(
                columns=(
                    Column("Alert", label="alertname", width=200),
                    Column(
                        "State",
                        label="alertstate",
                        width=80,
                        words=(Word("firing", "firing", Colour.BAD), Word("pending", "pending", Colour.WARN)),
                    ),
                    Column("Severity", label="severity", width=80),
                    Column("Account", label="account"),
                    Column("Target", label="name"),
                    Column("Domain", label="domain"),
                    Column("Script", label="script"),
                ),
                sort="Severity",
                ascending=True,
            ),
            width=13,
            none="No alerts, or the shipped rules are not loaded.",
        ),
        Panel(
            title="Failing targets by collector",
            shows="How many targets' last poll failed, by collector.",
            act="All collectors of an account at once: the account. One collector alone: that part of the platform,"
            " or a permission that the key lacks.",
            queries=(queries.FAILING_BY_COLLECTOR,),
            view=Lines(stack=True),
            least=0,
        ),
        Panel(
            title="Failed calls by reason",
            shows="Platform calls that failed, by reason, over all accounts chosen.",
            act="The reason is the cause: `unauthorized`, `forbidden` and `credential` are the key, `rate_limited` the"
            " budget, `timeout`, `refused` and `name` the network, `not_json` and `wrong_shape` an answer that could"
            " not be read.",
            queries=(queries.FAILURES_BY_REASON,),
            view=Lines(stack=True),
            unit="reqps",
            least=0,
            none="No call failed.",
        ),
        Panel(
            title="Alerts firing by severity",
            shows="How many alerts of the shipped rules fired, by severity.",
            act="A rise that lasts deserves the table above; a saw-tooth is an alert near its threshold.",
            queries=(queries.ALERTS_BY_SEVERITY,),
            view=Lines(stack=True, bars=True, painted=SEVERITY_PAINT),
            least=0,
            none="No alert has fired.",
        ),
    ),
)

_ACCOUNTS = Row(
    "Accounts",
    (
        Panel(
            title="Accounts",
            shows="Every account: whether it answers, what is polled of it, and what that costs; at most 50.",
            act="Follow the account's name to its budget, its failures by reason and its latency.",
            queries=(
                queries.ACCOUNT_UP,
                queries.ACCOUNT_TARGETS,
                queries.ACCOUNT_FAILING,
                queries.ACCOUNT_REQUESTS,
                queries.ACCOUNT_FAILURES,
                queries.ACCOUNT_BUDGET,
                queries.ACCOUNT_RESOURCES,
            ),
            view=Table(
                columns=(
                    columns.ACCOUNT,
                    Column("State", words=UP_OR_DOWN, width=80),
                    Column("Targets"),
                    Column("Failing", steps=red_from(1)),
                    Column("Calls", unit="reqps"),
                    Column("Failed calls", unit="reqps", steps=red_from(0.001)),
                    Column("Of the budget", unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1)),
                    Column("Resources"),
                ),
                sort="Failing",
            ),
            width=14,
        ),
        Panel(
            title="Accounts answering",
            shows="When each account answered, and when not; at most 50.",
            act="All accounts at once: the platform or the network. One account: its key.",
            queries=(queries.ACCOUNT_UP,),
            view=Timeline(),
            width=10,
            words=UP_OR_DOWN,
        ),
    ),
)

_GLANCE = Row(
    "At a glance",
    (
        Panel(
            title="DNS queries by account",
            shows="DNS queries a second of all zones, by account.",
            act="A line that falls to zero while others go on: open the DNS page for that account.",
            queries=(dns.RATE_BY_ACCOUNT,),
            view=Lines(stack=True),
            unit="reqps",
            least=0,
        ),
        Panel(
            title="Rate-limit breaches by action",
            shows="Breaches of shield rate limits a minute, by what was done about them.",
            act="A burst of blocked requests is an attack or a limit set too low: open the Shield page.",
            queries=(shield.BREACHES_OF_ALL_ZONES,),
            view=Lines(stack=True, painted=ACTION_PAINT),
            unit="cpm",
            least=0,
        ),
        Panel(
            title="Script requests by account",
            shows="Edge script requests a second, by account.",
            act="A line that falls to zero: a release that broke, or a pull zone that was unlinked. Open Edge scripts.",
            queries=(scripts.REQUESTS_BY_ACCOUNT,),
            view=Lines(stack=True),
            unit="reqps",
            least=0,
        ),
        Panel(
            title="Script cost, month to date",
            shows="What edge scripts have cost since the UTC month began, by account.",
            act="Compare with the projection on the Edge scripts page before the month is over.",
            queries=(scripts.COST_BY_ACCOUNT,),
            view=Bars(),
            unit="currencyUSD",
            width=6,
            steps=PLAIN,
        ),
        Panel(
            title="Resources by type",
            shows="What the accounts hold, as discovery's search counts it.",
            act="A type that shrinks without a change of yours was deleted by someone: ask who, and why.",
            queries=(database.RESOURCES,),
            view=Bars(),
            width=6,
            steps=PLAIN,
        ),
        Panel(
            title="Databases",
            shows="Whether each configured database answers.",
            act="Open the Database page: a refused token and a database that is gone look the same from here.",
            queries=(queries.DATABASES,),
            view=Numbers(),
            width=6,
            words=UP_OR_DOWN,
        ),
        Panel(
            title="DNS scans failed",
            shows="Zones whose latest scan of records ended as Failed.",
            act="Open the DNS page, where the scans that need a look are listed.",
            queries=(queries.SCANS_FAILED,),
            view=Numbers(trend=True),
            width=3,
            steps=red_from(1),
        ),
        Panel(
            title="WAF switched off",
            shows="Shield zones whose web application firewall was on within the last week and is off.",
            act="Open the Shield page: if nobody meant it, switch it on again at the platform.",
            queries=(queries.WAF_OFF,),
            view=Numbers(trend=True),
            width=3,
            steps=red_from(1),
        ),
    ),
)

PAGE = Page(
    uid=links.OVERVIEW,
    title="Edge platform / Overview",
    about="Is anything wrong, and where to look: accounts, failing targets, alerts, and the platform at a glance.",
    variables=(variables.JOB, variables.ACCOUNTS),
    rows=(_NOW, _FAILING, _ACCOUNTS, _GLANCE),
)
