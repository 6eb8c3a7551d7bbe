"""Overview: whether anything is wrong, and where."""

from dashboards.generator import columns, links, variables
from dashboards.generator.colours import ACTION_PAINT, UP_OR_DOWN, Colour, Word, red_from, warn_then_red
from dashboards.generator.page import QUERIES, Column, Page, Query, Table, Tile, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import count, highest, lowest, milliseconds, top, total
from dashboards.generator.queries import alerts, figures, findings, subject
from dashboards.generator.queries.figures import NO_RULES, SILENT, staleness
from dashboards.generator.selectors import ACCOUNT, age, gauge, own_rate, series

# If several exporters report an account, one that reports it as down decides.
_UP = lowest(series("edge_up", ACCOUNT), "account")
_TARGET_UP = gauge("edge_target_up", ACCOUNT)
# Databases belong to no account.
_OF_ACCOUNTS = gauge("edge_target_up", ACCOUNT, 'account!=""')
_SINCE_SUCCESS = age("edge_target_last_success_timestamp_seconds", ACCOUNT)
_FAILING = f"({_TARGET_UP} == 0)"
_ONE = "on (account, collector, target)"
# A target without a successful poll has no age; its value is -1.
_WITHOUT_SUCCESS = f"(({_SINCE_SUCCESS} and {_ONE} {_FAILING}) or {_ONE} {_FAILING} - 1)"
# Each shard has a share of the account's budget and of its demand, so both are summed.
_BUDGET = total(series("edge_api_budget_requests_per_second", ACCOUNT), "account")
_DEMAND = total(series("edge_api_demand_requests_per_second", ACCOUNT), "account")
# The graphs use series that the rules record, because a sum over all zones for each step of a day reads too much.
_NOT_RECORDED = "Nothing is recorded yet, or the rules are not loaded."
_A_FAILURE = "a target's poll fails"
_LATELY = f"last_over_time({series('edge_exporter_build_info')}[1d])"
_DOWN = f"sum({series('up')} == bool 0 and on (job, instance) {_LATELY})"


def _at_most_50(expr: str) -> str:
    return top(expr, 50)


def _by_account(recorded: str) -> str:
    return top(total(series(recorded, ACCOUNT), "account"), 20)


_NOW = row(
    "Now",
    (4, 4, 4, 4, 4, 4),
    panel(
        "Exporters down",
        "Exporters that Prometheus scraped within the day and cannot scrape now.",
        "Read the end of the exporter's log. Until it is back, this page shows other exporters only, or nothing.",
        Tile(unknown=(SILENT,)),
        _DOWN,
    ),
    panel(
        "Accounts not answering",
        "Accounts for which at least one exporter has had no authenticated answer lately (edge_up is 0).",
        "Open the account on the Exporter page: the reason of its failed calls is the cause.",
        Tile(unknown=(SILENT,)),
        total(f"{_UP} == bool 0"),
    ),
    panel(
        "Targets failing",
        "Targets whose last poll failed, or whose values are too old (edge_target_up is 0), once for each collector.",
        "Read the table of failing targets: if many are of one account or collector, they most often have one cause.",
        Tile(unknown=(SILENT,)),
        total(f"{_TARGET_UP} == bool 0"),
    ),
    panel(
        "Alerts firing",
        "Firing alerts of the shipped rules, without inhibited ones and the watchdog.",
        "Read the table of alerts; each links to its runbook, which says how to confirm it and what to do.",
        Tile(unknown=(NO_RULES, SILENT)),
        alerts.FIRING,
    ),
    panel(
        "Oldest values",
        "The age of the oldest values of a target, in intervals of its collector; without database queries.",
        "By default, a target's series end after three intervals: find it in the table of failing targets.",
        Tile(unknown=(SILENT,), unit="suffix: intervals", decimals=1, steps=figures.STALE),
        highest(staleness()),
    ),
    panel(
        "API budget asked for",
        "The calls a second that targets and intervals need, as a share of the budget; the account with the highest"
        " share.",
        "Above 95 %, targets are polled less often than configured: raise the budget, or poll fewer targets.",
        Tile(unknown=(SILENT,), unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1)),
        highest(f"{_DEMAND} / {_BUDGET}"),
    ),
)

_SEVERITIES = (
    Word("critical", "critical", Colour.BAD),
    Word("warning", "warning", Colour.WARN),
    Word("info", "info", Colour.INFO),
)
_ACCOUNT = Column("Account", label="account", width=140, link=columns.ACCOUNT.link)

_WRONG = row(
    "What is wrong",
    (24, 24),
    panel(
        "What stands out now",
        "Problems in the newest values, without waiting for an alert; at most 20 rows of a kind. The traffic of a zone"
        " is compared with what the shipped rules recorded a day and a week ago, or with the hour before.",
        "Follow the link in the row. A row with `check` may have a good reason.",
        Table(height=5, none="Nothing stands out.", sort="Urgency"),
        Column("Urgency", findings.FOUND, words=findings.URGENCIES, width=100),
        Column("What", label="what", width=220),
        subject.ABOUT,
        Column("Figure", label="figure", width=190),
        _ACCOUNT,
        *subject.HIDDEN,
    ),
    panel(
        "Alerts",
        "Alerts of the shipped rules without the watchdog, firing ones first; `follows` marks those that Alertmanager"
        " inhibits.",
        "The alert's name links to a runbook, its subject to a page. A pending alert fires if the problem lasts.",
        Table(height=6, none="No alert is pending or fires.", sort="State"),
        Column("State", alerts.ALERTS, words=alerts.STATES, width=85),
        Column("Severity", label="severity", width=100, words=_SEVERITIES),
        Column("Alert", label="alertname", width=260, link=links.runbook("Alert")),
        subject.ABOUT,
        _ACCOUNT,
        Column("For", alerts.SINCE, unit="s", width=80, decimals=0),
        *subject.HIDDEN,
    ),
)

_REMOVED = gauge("edge_target_removed_timestamp_seconds", ACCOUNT)
_UP_A_DAY_AGO = gauge("edge_target_up", ACCOUNT, at=" offset 1d")
# Without data of yesterday, no target counts as new.
_APPEARED = (
    f"group by (account, target, name) ({_TARGET_UP} unless on (account, target) {_UP_A_DAY_AGO})"
    f" and on () group({_UP_A_DAY_AGO})"
)
_FAILURES = row(
    "What is failing",
    (12, 12),
    panel(
        "Failing targets",
        "Targets whose last poll failed, or whose values are too old, the longest without success first, and last those"
        " without any success; at most 100.",
        "Follow the account to its failures by reason. If a target never succeeded, usually its id is wrong, or the key"
        " may not read it: `edge-exporter check` polls the targets, and shows why a poll fails.",
        Table(sort="Without success", none="Nothing fails."),
        columns.ACCOUNT,
        Column("Collector", label="collector", width=170),
        Column("Target", label="target"),
        Column("Name", label="name"),
        Column(
            "Without success",
            Query(highest(top(_WITHOUT_SUCCESS, 100), "account", "collector", "target", "name"), quiet=_A_FAILURE),
            width=155,
            unit="s",
            steps=warn_then_red(0, 2700),
            words=(Word("-1", "never succeeded", Colour.BAD),),
        ),
    ),
    panel(
        "What appeared and disappeared",
        "Targets that left the platform within a week, and targets that were not polled a day ago; at most 50 of each.",
        "If a target was deleted by mistake, restore it on the platform: see the runbook of EdgeTargetRemoved.",
        Table(sort="Disappeared", none="Nothing appeared or disappeared."),
        columns.ACCOUNT,
        Column("Target", label="target"),
        Column("Name", label="name"),
        Column(
            "Disappeared",
            Query(milliseconds(top(highest(_REMOVED, "account", "target", "name"), 50)), quiet="a target disappears"),
            unit="dateTimeFromNow",
        ),
        Column("Appeared", top(_APPEARED, 50), words=(Word("1", "within a day", Colour.INFO),)),
    ),
)

_ACCOUNTS = row(
    "Accounts",
    (24,),
    panel(
        "Accounts",
        "Every account: whether it answers, its targets and its calls; at most 50. Waiting: how many calls wait for the"
        " budget on average. Clock: the platform's time minus that of the machine.",
        "Waiting above 1 for long: the budget is too small. Clock beyond a minute: synchronise the machine's clock."
        " Otherwise follow the account's name.",
        Table(sort="Failing"),
        columns.ACCOUNT,
        Column("State", _at_most_50(_UP), words=UP_OR_DOWN, width=80),
        Column("Targets", _at_most_50(count(_OF_ACCOUNTS, "account"))),
        Column("Failing", _at_most_50(total(f"{_OF_ACCOUNTS} == bool 0", "account")), steps=red_from(1), width=95),
        Column("Pending", _at_most_50(total(series("edge_targets", ACCOUNT, 'state="pending"'), "account")), width=95),
        Column("Calls", _at_most_50(total(own_rate("edge_api_requests_total", ACCOUNT), "account")), unit="reqps"),
        Column(
            "Failed calls",
            _at_most_50(total(own_rate("edge_api_request_failures_total", ACCOUNT), "account")),
            unit="reqps",
            width=128,
            steps=red_from(0.001),
        ),
        columns.share("Of budget", _at_most_50(f"{_DEMAND} / {_BUDGET}")),
        Column(
            "Waiting", _at_most_50(total(own_rate("edge_api_throttled_seconds_total", ACCOUNT), "account")), unit="s"
        ),
        Column(
            "Clock", _at_most_50(highest(series("edge_exporter_clock_offset_seconds", ACCOUNT), "account")), unit="s"
        ),
        Column("Resources", _at_most_50(total(gauge("edge_resources", ACCOUNT), "account"))),
    ),
)

_GLANCE = row(
    "At a glance",
    (8, 8, 8),
    panel(
        "DNS queries by account",
        "DNS queries a second over an hour, as the shipped rules record them, without zones whose polls failed.",
        "If one account falls to zero, open the DNS page for it.",
        TimeSeries(unit=QUERIES, none=_NOT_RECORDED, stack=True),
        Query(_by_account("zone:edge_dns_queries:rate1h"), "{{account}}", step="5m"),
    ),
    panel(
        "Rate-limit breaches by action",
        "Breaches a minute over 15 minutes, as the shipped rules record them.",
        "A burst of blocked requests is an attack, or a limit that is too low: open the Shield page.",
        TimeSeries(unit="suffix: per min", none=_NOT_RECORDED, stack=True, painted=ACTION_PAINT),
        Query(
            f"60 * {total(series('rate_limit_action:edge_shield_rate_limit_breaches:rate15m', ACCOUNT), 'action')}",
            "{{action}}",
            step="5m",
        ),
    ),
    panel(
        "Script requests by account",
        "Requests a second over two hours, as the shipped rules record them, without scripts whose polls failed.",
        "If an account falls to zero, look for a broken release or an unlinked pull zone on the Edge scripts page.",
        TimeSeries(unit="reqps", none=_NOT_RECORDED, stack=True),
        Query(_by_account("script:edge_script_requests:rate2h"), "{{account}}", step="15m"),
    ),
)

PAGE = Page(
    uid=links.OVERVIEW,
    title="Edge platform / Overview",
    about="Whether anything is wrong, and where: what stands out, alerts, failing targets, the platform at a glance.",
    variables=(variables.JOB, variables.ACCOUNTS),
    rows=(_NOW, _WRONG, _FAILURES, _GLANCE, _ACCOUNTS),
)
