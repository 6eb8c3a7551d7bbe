"""Overview: is anything wrong, and where to look."""

from dashboards.generator import annotations, columns, links, variables
from dashboards.generator.colours import ACTION_PAINT, UP_OR_DOWN, Colour, Word, red_from, warn_from, warn_then_red
from dashboards.generator.intervals import OWN_METRICS
from dashboards.generator.page import QUERIES, Column, Page, Query, Table, TimeSeries
from dashboards.generator.pages.wrong import WRONG
from dashboards.generator.panels import Tile, panel, row
from dashboards.generator.promql import among_all, count, highest, lowest, milliseconds, top, total
from dashboards.generator.queries import alerts, figures, findings
from dashboards.generator.queries.figures import staleness
from dashboards.generator.selectors import ACCOUNT, age, gauge, own_rate, series

# An account is down if one shard is refused.
_UP = lowest(series("edge_up", ACCOUNT), "account")
_TARGET_UP = gauge("edge_target_up", ACCOUNT)
# Databases belong to no account.
_OF_ACCOUNTS = gauge("edge_target_up", ACCOUNT, 'account!=""')
_SINCE_SUCCESS = age("edge_target_last_success_timestamp_seconds", ACCOUNT)
_FAILING = f"({_TARGET_UP} == 0)"
_ONE = "on (account, collector, target)"
# A target without a successful poll has no age; its value is -1.
_WITHOUT_SUCCESS = f"(({_SINCE_SUCCESS} and {_ONE} {_FAILING}) or {_ONE} {_FAILING} - 1)"
# Each shard has a share of the account's budget and of its demand, so both are summed. The capacity is the lower of two
# limits: calls a second, or calls at once while the platform is slow.
_CAPACITY = total(f"min without (limit) ({series('edge_api_capacity_requests_per_second', ACCOUNT)})", "account")
_DEMAND = total(series("edge_api_demand_requests_per_second", ACCOUNT), "account")
_WAF = gauge("edge_shield_zone_waf_enabled", ACCOUNT)
_LIMITS = gauge("edge_shield_rate_limit_window_breaches_overall", ACCOUNT)
_ZONES = gauge("edge_dns_window_queries", ACCOUNT)
# Only scripts with a budget can exceed it.
_SCRIPTS = gauge("edge_script_monthly_budget_dollars", ACCOUNT)
_DATABASES = gauge("edge_target_up", ACCOUNT, 'collector=~"database|database_queries"')
# A sum over all zones for each step of a day reads too much: it is recorded for the alerts anyway.
_NOT_RECORDED = "Nothing is recorded yet, or the rules are not loaded."
_A_FAILURE = "a target's poll fails"
_LATELY = f"last_over_time({series('edge_exporter_build_info')}[1d])"
_DOWN = f"sum({series('up')} == bool 0 and on (job, instance) {_LATELY})"


def _accounts(expr: str) -> str:
    return top(expr, 50)


_NOW = row(
    "Now",
    (4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 4),
    panel(
        "Exporters down",
        "Exporters that Prometheus scraped within the day and cannot scrape now.",
        "Read the process's last log lines; until it is back, this page shows other exporters only, or nothing.",
        Tile(),
        Query(_DOWN, "exporters"),
    ),
    panel(
        "Accounts not answering",
        "Accounts from which no authenticated answer came within the last interval, on any one shard.",
        "Open the account on the Exporter page: 401 or 403 among its codes means that the key was refused or"
        " replaced; time-outs mean that the platform or the way to it is down.",
        Tile(),
        Query(total(f"{_UP} == bool 0"), "accounts"),
    ),
    panel(
        "Targets failing",
        "Targets whose last poll failed. Each keeps its last values for three intervals; then its series end.",
        "Read the table of failing targets below: many of one account or collector have one cause, a single one"
        " is most often deleted or forbidden to the key.",
        Tile(),
        Query(total(f"{_TARGET_UP} == bool 0"), "targets"),
    ),
    panel(
        "Alerts firing",
        "Alerts of the shipped rules that fire now, without those that only follow from another one. NO RULES:"
        " Prometheus does not evaluate the rules, so no alert can fire.",
        "Read the table of alerts; each links to its runbook, which says how to confirm it and what to do.",
        Tile(of=None),
        alerts.SEEN,
    ),
    panel(
        "Oldest values",
        "The time since the last success of the target that has waited longest, in intervals of its collector.",
        "After three intervals a target's series end, so its graphs are empty and its alerts cannot fire. Find"
        " it in the table of failing targets.",
        Tile(trend=False, unit="suffix: intervals", decimals=1, steps=figures.STALE),
        Query(highest(staleness()), "oldest"),
    ),
    panel(
        "API budget asked for",
        "What targets and intervals ask of an account, as a share of what the lower limit of its request budget"
        " allows: requests_per_second, or max_in_flight while the platform is slow; the worst account.",
        "Above 100 %, polls are late by the part above it. Raise the limit that applies, lengthen intervals, or"
        " narrow the account's targets by include and exclude.",
        Tile(unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1)),
        Query(highest(f"{_DEMAND} / {_CAPACITY}"), "of the budget"),
    ),
    panel(
        "WAF switched off",
        "Shield zones whose web application firewall is off, and was on within the last week.",
        "The table below names them. If it was not meant, switch it on again at the platform.",
        Tile(of=("shield_zones",), trend=False),
        Query(among_all(findings.waf_off(), _WAF), "zones", step=OWN_METRICS),
    ),
    panel(
        "Rate limits in a burst",
        "Rate limits with five times their usual breaches within the last 15 minutes.",
        "The table below names them; the Shield page shows what is done about it.",
        Tile(of=("shield_rate_limits",), trend=False, steps=warn_from(1)),
        Query(among_all(findings.bursts(), _LIMITS), "rate limits"),
    ),
    panel(
        "Zones fallen",
        "DNS zones with less than 60 % of the queries of the same time yesterday (or, without a yesterday, of the"
        " hour before).",
        "The table below names them: check their delegation and name servers at the registrar.",
        Tile(of=("dns_statistics",), trend=False, steps=warn_from(1)),
        Query(among_all(findings.FALLEN, _ZONES), "zones", step=OWN_METRICS),
    ),
    panel(
        "Scans failed",
        "DNS zones whose latest scan of records ended as Failed.",
        "The DNS page lists the scans that need a look.",
        Tile(of=("dns_record_scans",), steps=warn_from(1)),
        # Other pages show these for selected zones or databases, this page for whole accounts.
        Query(total(gauge("edge_dns_record_scan_status", ACCOUNT, 'status="failed"')), "failed", step=OWN_METRICS),
    ),
    panel(
        "Over budget",
        "Edge scripts that have cost more this month than their budget.",
        "The Edge scripts page says what the cost is made of.",
        Tile(of=("scripts",), steps=warn_from(1), none="no budgets"),
        Query(among_all(findings.OVER_BUDGET, _SCRIPTS), "scripts", step=OWN_METRICS),
    ),
    panel(
        "Tags missing",
        "Tags of watch_tags that their image does not have.",
        "Deployments that pull the tag fail: push it again, or watch another.",
        Tile(of=("container_tags",), steps=warn_from(1), none="none watched"),
        Query(total(f"{gauge('edge_container_image_tag_present', ACCOUNT)} == bool 0"), "tags", step=OWN_METRICS),
    ),
    panel(
        "Databases failing",
        "Databases that do not answer, and queries of the configuration that fail.",
        "The Database page says which; a token that was replaced and a database that is gone look the same here.",
        Tile(of=("database",), none="none configured"),
        Query(
            among_all(f"({gauge('edge_database_up')} == 0 or {findings.QUERIES_UP} == 0)", _DATABASES),
            "databases and queries",
        ),
    ),
)

_REMOVED = gauge("edge_target_removed_timestamp_seconds", ACCOUNT)
_UP_A_DAY_AGO = gauge("edge_target_up", ACCOUNT, at=" offset 1d")
# While nothing is known of yesterday, nothing is new.
_APPEARED = (
    f"group by (account, target, name) ({_TARGET_UP} unless on (account, target) {_UP_A_DAY_AGO})"
    f" and on () group({_UP_A_DAY_AGO})"
)
_FAILURES = row(
    "What is failing",
    (12, 12, 12, 12),
    panel(
        "Failing targets",
        "Targets whose last poll failed, the longest without success first; at most 100.",
        "Follow the account to its failures by reason. A target that was never polled with success is most"
        " often a wrong id or one that the key may not read: `edge-exporter check` tries it at once.",
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
        "Targets that left the platform within a week, and those that are polled and were not a day ago; at most 50 of"
        " each. What the configuration leaves out has not disappeared.",
        "If nobody meant to delete it, restore it at the platform. The runbook of EdgeTargetRemoved says how to"
        " recognise a wanted removal.",
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
    panel(
        "Duration of a call",
        "The mean duration of a platform call, by account; the ten slowest.",
        "If it rises on all accounts, the platform or the network is slow. Near the timeout, polls fail.",
        TimeSeries(unit="s"),
        # By account, because a slow platform may affect only some accounts.
        Query(
            f"topk(10, {total(own_rate('edge_api_request_duration_seconds_sum', ACCOUNT), 'account')}"
            f" / {total(own_rate('edge_api_request_duration_seconds_count', ACCOUNT), 'account')})",
            "{{account}}",
        ),
    ),
    panel(
        "Failed calls by reason",
        "Platform calls that failed, by reason, over all accounts chosen.",
        "The reason is the cause: `unauthorized`, `forbidden` and `credential` are the key, `rate_limited` the budget,"
        " `timeout`, `refused` and `name` the network, `not_json` and `wrong_shape` an answer that could not be read.",
        TimeSeries(unit="reqps", none="No call failed.", stack=True),
        Query(
            # These counters begin at 0 with the process; series of events that never happened are left out.
            f"{total(own_rate('edge_api_request_failures_total', ACCOUNT), 'reason')} > 0",
            "{{reason}}",
            quiet="a platform call fails",
        ),
    ),
)

_ACCOUNTS = row(
    "Accounts",
    (24,),
    panel(
        "Accounts",
        "Every account: whether it answers, what is polled of it, and what that costs; at most 50.",
        "Follow the account's name to its budget, its failures by reason and its latency.",
        Table(sort="Failing"),
        columns.ACCOUNT,
        Column("State", Query(_accounts(_UP), "{{account}}"), words=UP_OR_DOWN, width=80),
        Column("Targets", _accounts(count(_OF_ACCOUNTS, "account"))),
        Column("Failing", _accounts(total(f"{_OF_ACCOUNTS} == bool 0", "account")), steps=red_from(1), width=95),
        Column("Pending", _accounts(total(series("edge_targets", ACCOUNT, 'state="pending"'), "account")), width=95),
        Column("Calls", _accounts(total(own_rate("edge_api_requests_total", ACCOUNT), "account")), unit="reqps"),
        Column(
            "Failed calls",
            _accounts(total(own_rate("edge_api_request_failures_total", ACCOUNT), "account")),
            unit="reqps",
            width=128,
            steps=red_from(0.001),
        ),
        columns.share("Of budget", _accounts(f"{_DEMAND} / {_CAPACITY}")),
        Column("Resources", _accounts(total(gauge("edge_resources", ACCOUNT), "account"))),
    ),
)

_GLANCE = row(
    "At a glance",
    (8, 8, 8),
    panel(
        "DNS queries by account",
        "DNS queries a second of all zones in the hour before, by account, as the shipped rules record them: zones"
        " whose polls failed in that hour are left out.",
        "A line that falls to zero while others go on: open the DNS page for that account.",
        TimeSeries(unit=QUERIES, none=_NOT_RECORDED, stack=True),
        Query(top(total(series("zone:edge_dns_queries:rate1h", ACCOUNT), "account"), 20), "{{account}}", step="5m"),
    ),
    panel(
        "Rate-limit breaches by action",
        "Breaches of shield rate limits a minute in the 15 minutes before, by what was done about them, as the shipped"
        " rules record them: rate limits whose polls failed then are left out.",
        "A burst of blocked requests is an attack or a limit set too low: open the Shield page.",
        TimeSeries(unit="suffix: per min", none=_NOT_RECORDED, stack=True, painted=ACTION_PAINT),
        Query(
            f"60 * {total(series('rate_limit_action:edge_shield_rate_limit_breaches:rate15m', ACCOUNT), 'action')}",
            "{{action}}",
            step="5m",
        ),
    ),
    panel(
        "Script requests by account",
        "Edge script requests a second in the two hours before, by account, as the shipped rules record them: scripts"
        " whose polls failed then are left out.",
        "A line that falls to zero: a release that broke, or a pull zone that was unlinked. Open Edge scripts.",
        TimeSeries(unit="reqps", none=_NOT_RECORDED, stack=True),
        Query(
            top(total(series("script:edge_script_requests:rate2h", ACCOUNT), "account"), 20), "{{account}}", step="15m"
        ),
    ),
)

PAGE = Page(
    uid=links.OVERVIEW,
    title="Edge platform / Overview",
    about="Is anything wrong, and where to look: what stands out, alerts, failing targets, the platform at a glance.",
    variables=(variables.JOB, variables.ACCOUNTS),
    rows=(_NOW, WRONG, _FAILURES, _GLANCE, _ACCOUNTS),
    alerts=True,
    annotations=annotations.ON_EVERY_PAGE,
)
