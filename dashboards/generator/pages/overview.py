"""Overview: is anything wrong, and where to look."""

from dashboards.generator import columns, links, marks, tables, variables
from dashboards.generator.page import (
    ACTION_PAINT,
    UP_OR_DOWN,
    Colour,
    Column,
    Lines,
    Page,
    Panel,
    Row,
    Word,
    red_from,
    table,
    warn_from,
    warn_then_red,
)
from dashboards.generator.queries import alerts, dns, scripts, shield, truth
from dashboards.generator.queries import overview as queries
from dashboards.generator.tables import tile

_NOW = Row(
    "Now",
    (
        tile(
            "Exporters down",
            "Exporters that Prometheus scraped within the day and cannot scrape now.",
            "Read the process's last log lines; until it is back, this page shows other exporters only, or nothing.",
            queries.EXPORTERS_DOWN,
            width=4,
        ),
        tile(
            "Accounts not answering",
            "Accounts from which no authenticated answer came within the last interval, on any one shard.",
            "Open the account on the Exporter page: 401 or 403 among its codes means that the key was refused or"
            " replaced; time-outs mean that the platform or the way to it is down.",
            queries.ACCOUNTS_DOWN,
            width=4,
        ),
        tile(
            "Targets failing",
            "Targets whose last poll failed. Each keeps its last values for three intervals; then its series end.",
            "Read the table of failing targets below: many of one account or collector have one cause, a single one"
            " is most often deleted or forbidden to the key.",
            queries.TARGETS_FAILING,
            width=4,
        ),
        tile(
            "Alerts firing",
            "Alerts of the shipped rules that fire now, without those that only follow from another one. NO RULES:"
            " Prometheus does not evaluate the rules, so no alert can fire.",
            "Read the table of alerts; each links to its runbook, which says how to confirm it and what to do.",
            alerts.SEEN,
            width=4,
        ),
        tile(
            "Oldest values",
            "The time since the last success of the target that has waited longest, in intervals of its collector.",
            "After three intervals a target's series end, so its graphs are empty and its alerts cannot fire. Find"
            " it in the"
            " table of failing targets.",
            queries.OLDEST,
            width=4,
            trend=False,
            unit="suffix: intervals",
            decimals=1,
            steps=truth.STALE,
        ),
        tile(
            "API budget asked for",
            "What targets and intervals ask of an account, as a share of what the lower limit of its request budget"
            " allows: requests_per_second, or max_in_flight while the platform is slow; the worst account.",
            "Above 100 %, polls are late by the part above it. Raise the limit that applies, lengthen intervals, or"
            " narrow the account's targets by include and exclude.",
            queries.BUDGET_ASKED,
            width=4,
            unit="percentunit",
            decimals=0,
            steps=warn_then_red(0.8, 1),
        ),
        tile(
            "WAF switched off",
            "Shield zones whose web application firewall is off, and was on within the last week.",
            "The table below names them. If it was not meant, switch it on again at the platform.",
            queries.WAF_OFF,
            width=4,
            trend=False,
        ),
        tile(
            "Rate limits in a burst",
            "Rate limits with five times their usual breaches within the last 15 minutes.",
            "The table below names them; the Shield page shows what is done about it.",
            queries.LIMITS_IN_BURST,
            width=4,
            steps=warn_from(1),
        ),
        tile(
            "Zones fallen",
            "DNS zones with less than 60 % of the queries of the same time yesterday (or, without a yesterday, of the"
            " hour before).",
            "The table below names them: check their delegation and name servers at the registrar.",
            queries.ZONES_FALLEN,
            width=3,
            steps=warn_from(1),
        ),
        tile(
            "Scans failed",
            "DNS zones whose latest scan of records ended as Failed.",
            "The DNS page lists the scans that need a look.",
            queries.SCANS_FAILED,
            width=3,
            steps=warn_from(1),
        ),
        tile(
            "Over budget",
            "Edge scripts that have cost more this month than their budget.",
            "The Edge scripts page says what the cost is made of.",
            queries.SCRIPTS_OVER,
            width=3,
            steps=warn_from(1),
            none="no budgets",
        ),
        tile(
            "Tags missing",
            "Tags of watch_tags that their image does not have.",
            "Deployments that pull the tag fail: push it again, or watch another.",
            queries.TAGS_MISSING,
            width=3,
            steps=warn_from(1),
            none="none watched",
        ),
        tile(
            "Databases failing",
            "Databases that do not answer, and queries of the configuration that fail.",
            "The Database page says which; a token that was replaced and a database that is gone look the same here.",
            queries.DATABASES_FAILING,
            width=4,
            none="none configured",
        ),
    ),
)

_WRONG = Row("What is wrong", (tables.FINDINGS, tables.ALERTS))

_FAILING = Row(
    "What is failing",
    (
        Panel(
            title="Failing targets",
            shows="Targets whose last poll failed, the longest without success first; at most 100.",
            act="Follow the account to its failures by reason. A target that was never polled with success is most"
            " often a wrong id or one that the key may not read: `edge-exporter check` tries it at once.",
            queries=(queries.FAILING,),
            view=table(
                columns.ACCOUNT,
                Column("Collector", label="collector", width=170),
                Column("Target", label="target"),
                Column("Name", label="name"),
                Column(
                    "Without success",
                    width=155,
                    unit="s",
                    steps=warn_then_red(0, 2700),
                    words=(Word("-1", "never succeeded", Colour.BAD),),
                ),
                sort="Without success",
            ),
            width=12,
            none="Nothing is failing, or no exporter answers: the tiles say which.",
        ),
        Panel(
            title="Duration of a call",
            shows="The mean duration of a platform call, by account; the ten slowest.",
            act="If it rises on all accounts, the platform or the network is slow. Near the timeout, polls fail.",
            queries=(queries.CALL_DURATION,),
            unit="s",
            width=6,
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
            none="No call failed.",
            width=6,
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
            view=table(
                columns.ACCOUNT,
                Column("State", words=UP_OR_DOWN, width=80),
                Column("Targets"),
                Column("Failing", steps=red_from(1), width=95),
                Column("Calls", unit="reqps"),
                Column("Failed calls", unit="reqps", width=128, steps=red_from(0.001)),
                Column("Of budget", unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1)),
                Column("Resources"),
                sort="Failing",
            ),
            width=24,
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
        ),
        Panel(
            title="Rate-limit breaches by action",
            shows="Breaches of shield rate limits a minute, by what was done about them.",
            act="A burst of blocked requests is an attack or a limit set too low: open the Shield page.",
            queries=(shield.BREACHES_OF_ALL_ZONES,),
            view=Lines(stack=True, painted=ACTION_PAINT),
            unit="suffix: per min",
        ),
        Panel(
            title="Script requests by account",
            shows="Edge script requests a second, by account.",
            act="A line that falls to zero: a release that broke, or a pull zone that was unlinked. Open Edge scripts.",
            queries=(scripts.REQUESTS_BY_ACCOUNT,),
            view=Lines(stack=True),
            unit="reqps",
        ),
    ),
)

PAGE = Page(
    uid=links.OVERVIEW,
    title="Edge platform / Overview",
    about="Is anything wrong, and where to look: what stands out, alerts, failing targets, the platform at a glance.",
    variables=(variables.JOB, variables.ACCOUNTS),
    rows=(_NOW, _WRONG, _FAILING, _GLANCE, _ACCOUNTS),
    alerts=True,
    marks=marks.ON_EVERY_PAGE,
)
