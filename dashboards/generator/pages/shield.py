"""Shield: breaches, the protection of zones, API guardians, bots and access lists."""

from dataclasses import replace

from dashboards.generator import annotations, columns, links, variables
from dashboards.generator.colours import ACTION_PAINT, MODE_WORDS, ON_OR_OFF, Colour, Word, red_then_warn, warn_from
from dashboards.generator.intervals import step_of
from dashboards.generator.page import Annotation, Column, Page, Query, Stat, Table, TimeSeries
from dashboards.generator.pages.shield_rules import (
    GUARDIANS,
    INFO,
    LIMITS,
    LISTS,
    RULES,
    TABLE_ROWS,
    ZONES,
    with_pull_zone,
)
from dashboards.generator.panels import Tile, panel, row
from dashboards.generator.promql import among_all, bottom, count, highest, top, total
from dashboards.generator.queries import findings
from dashboards.generator.selectors import ACCOUNT, AT_END, SHIELD_ZONE, gauge, increase

_WAF = ZONES.gauge("edge_shield_zone_waf_enabled")
_BREACH_RATE = ZONES.rate("edge_shield_rate_limit_breaches_total")
_TODAY = ZONES.gauge("edge_shield_rate_limit_day_breaches")
_OVERALL = ZONES.gauge("edge_shield_rate_limit_window_breaches_overall")
_LIMIT_TODAY = LIMITS.total(_TODAY)
_USUAL_DAY = f"{LIMITS.each(_OVERALL)} / 28"
_AGAINST_USUAL = LIMITS.ratio(_LIMIT_TODAY, _USUAL_DAY)
_MOST_AGAINST_USUAL = top(_AGAINST_USUAL, 50)
_MOST_BREACHED = top(LIMITS.each(LIMITS.gauge("edge_shield_rate_limit_window_breaches_overall", at=AT_END)))
_LAST_HOUR = increase("edge_shield_rate_limit_breaches_total", *LIMITS.chosen, over="1h")
# Breaches change more often than the name of a pull zone.
_STEP = step_of(_BREACH_RATE)
# If the platform's days are plain numbers, the action is unknown: some of these breaches may have been blocked.
_MAY_BE_BLOCKED = 'action=~"blocked|unclassified"'
# What the platform counts without an action may have been blocked, too.
_BLOCKED = LIMITS.total(ZONES.gauge("edge_shield_rate_limit_day_breaches", _MAY_BE_BLOCKED))
_BLOCKED_WINDOW = LIMITS.total(ZONES.gauge("edge_shield_rate_limit_window_breaches", _MAY_BE_BLOCKED))
_BLOCKED_HOUR = LIMITS.total(
    increase("edge_shield_rate_limit_breaches_total", *LIMITS.chosen, _MAY_BE_BLOCKED, over="1h")
)
_MOST_BLOCKED = top(f"({_BLOCKED})", 50)
_LEARNING = ZONES.gauge("edge_shield_zone_learning_mode")
_LEARNING_UNTIL = ZONES.gauge("edge_shield_zone_learning_mode_until_timestamp_seconds")
_ZONE_SHOWN = top(INFO, TABLE_ROWS)
_LEARNING_LEFT = f"(({_LEARNING_UNTIL} - time()) and on (account, shield_zone_id) ({_LEARNING} == 1))"


def _mode(engine: str, label: str) -> str:
    chosen = ZONES.gauge("edge_shield_zone_execution_mode", f'engine="{engine}"')
    renamed = f'label_replace({chosen} == 1, "{label}", "$1", "mode", "(.+)")'
    return ZONES.ranked(renamed, _ZONE_SHOWN, label)


def _rules(state: str) -> str:
    return ZONES.gauge("edge_shield_zone_waf_rules", f'state="{state}"')


def _used(number: str, kind: str) -> str:
    most = ZONES.highest(ZONES.gauge("edge_shield_zone_rules_limit", f'rule_kind="{kind}"'))
    return ZONES.among(ZONES.ratio(number, most), _ZONE_SHOWN)


def _setting(expr: str, setting: str, label: str, value: str) -> str:
    named = f'label_replace({expr}, "setting", "{setting}", "{label}", "(.+)")'
    return f'sum by (setting, value) (label_replace({named}, "value", "$1", "{value}", "(.+)")) > 0'


_FEATURES = f"label_replace({ZONES.gauge('edge_shield_zone_feature_enabled')}, 'on', 'on', '', '')"

_LEARNING_WORDS = (Word("1", "learning", Colour.WARN), Word("0", "no", Colour.QUIET))

_NOW = row(
    "Now",
    (4, 4, 4, 4, 4, 4),
    panel(
        "Breaches a minute",
        "Breaches of rate limits a minute, over the last four polls.",
        "The graph next to it shows the actions, and the one below shows the rate limits.",
        Stat(trend=True, unit="suffix: per min", height=3),
        # Breaches are rare, so rates are for a minute.
        Query(f"60 * {total(_BREACH_RATE)}", "breaches a minute"),
    ),
    panel(
        "Blocked today",
        "Requests that rate limits blocked since the UTC day began; and breaches of which the platform does"
        " not say what was done, where there are any.",
        "Read it against the usual day in the table of rate limits.",
        Stat(height=3),
        Query(
            total(ZONES.gauge("edge_shield_rate_limit_day_breaches", 'action="blocked"'), "action")
            + " or "
            + total(ZONES.gauge("edge_shield_rate_limit_day_breaches", 'action="unclassified"'), "action")
            + " > 0",
            "{{action}}",
        ),
    ),
    panel(
        "Rate limits in a burst",
        "Rate limits with five times their usual breaches within the last 15 minutes.",
        "The table of what is blocked names them: decide between an attack (leave it blocked) and a limit that is"
        " too low for its traffic (raise it).",
        Tile(of=("shield_rate_limits",), steps=warn_from(1)),
        Query(among_all(findings.bursts(SHIELD_ZONE), _OVERALL), "rate limits"),
    ),
    panel(
        "WAF switched off",
        "Shield zones whose web application firewall is off, and was on within the last week.",
        "The table of zones names them. If it was not meant, switch it on again at the platform.",
        Tile(of=("shield_zones",), trend=False),
        Query(among_all(findings.waf_off(SHIELD_ZONE), _WAF), "zones"),
    ),
    panel(
        "Learning mode",
        "Shield zones in learning mode: they log what they would block.",
        "Fine for the days of a roll-out; the table of learning zones shows when each ends.",
        Stat(of=("shield_zones",), height=3, steps=warn_from(1)),
        Query(total(_LEARNING), "zones"),
    ),
    panel(
        "Shield zones",
        "Shield zones that the accounts hold, by the platform's own count.",
        "More than the table of zones shows: the others are not read, or filtered by the configuration.",
        Stat(height=3),
        Query(total(highest(gauge("edge_shield_zones", ACCOUNT), "account")), "zones"),
    ),
)

_OF_LIMIT = (
    replace(columns.ACCOUNT, width=90),
    replace(columns.SHIELD_ZONE, hidden=True),
    columns.PULL_ZONE,
    Column("Rate limit", label="rate_limit"),
)
_BREACHES = row(
    "Rate limits",
    (12, 12, 12, 12),
    panel(
        "What rate limits block",
        "Rate limits by the requests that they blocked since the UTC day began, in the last hour, and within"
        " 28 days, with breaches of which the platform does not say what was done; the 50 that block most.",
        "The limit at the top with a full bar is the one that is attacked, or too low. Look at the zone's logs"
        " for who breaches; leave it, or raise the limit if they are yours.",
        Table(sort="Blocked", none="No rate limit has blocked anything."),
        *_OF_LIMIT,
        Column("Blocked", Query(with_pull_zone(_MOST_BLOCKED), step=_STEP), decimals=0, width=170, bar=True),
        Column("Last hour", LIMITS.among(_BLOCKED_HOUR, _MOST_BLOCKED), decimals=0, width=110),
        Column("28 days", LIMITS.among(_BLOCKED_WINDOW, _MOST_BLOCKED), decimals=0, width=90),
    ),
    panel(
        "Rate limits against their usual day",
        "Rate limits by today's breaches as a share of their mean day of the last 28; the 50 highest. The"
        " platform's day is UTC's.",
        "Over 100 % and growing in the last hour: it happens now. Look at the zone's logs for who breaches;"
        " block them, or raise the limit if they are yours.",
        Table(sort="Of usual", none="No rate limit was breached in 28 days."),
        *_OF_LIMIT,
        columns.share("Of usual", Query(with_pull_zone(_MOST_AGAINST_USUAL), step=_STEP), width=96),
        Column("Today", LIMITS.among(_LIMIT_TODAY, _MOST_AGAINST_USUAL), width=72),
        Column(
            "Usual day", LIMITS.among(f"{LIMITS.highest(_OVERALL)} / 28", _MOST_AGAINST_USUAL), decimals=0, width=104
        ),
        Column("Last hour", LIMITS.among(LIMITS.total(_LAST_HOUR), _MOST_AGAINST_USUAL), decimals=0, width=104),
    ),
    panel(
        "Breaches by action",
        "Breaches a minute by what was done: logged, challenged or blocked.",
        "A short peak of blocked requests is an attack that was stopped. If breaches are logged for a long time, the"
        " limit only logs: consider challenging.",
        TimeSeries(unit="suffix: per min", stack=True, painted=ACTION_PAINT),
        Query(f"60 * {total(_BREACH_RATE, 'action')}", "{{action}}"),
    ),
    panel(
        "Breaches by rate limit",
        "Breaches a minute of the rate limits with the most in 28 days.",
        "One limit: many requests to its path. All limits: many requests to the whole zone.",
        TimeSeries(unit="suffix: per min"),
        Query(
            with_pull_zone(LIMITS.among(f"60 * {LIMITS.total(_BREACH_RATE)}", _MOST_BREACHED)),
            "{{rate_limit}} ({{pull_zone}} {{shield_zone_id}})",
            step=_STEP,
        ),
    ),
)

_ZONES = row(
    "Protection of zones",
    (12, 12, 24),
    panel(
        "Settings of zones",
        "How many shield zones have each setting: the modes of their engines, the sensitivity of the DDoS"
        " engine, and features that are on.",
        "A zone in log mode is not protected; without DDoS sensitivity it is open to floods."
        " Body logging may hold personal data.",
        Table(sort="Setting", ascending=True),
        Column("Setting", label="setting"),
        Column("Value", label="value", words=MODE_WORDS),
        Column(
            "Zones",
            " or ".join(
                (
                    _setting(ZONES.gauge("edge_shield_zone_execution_mode"), "$1 engine", "engine", "mode"),
                    _setting(ZONES.gauge("edge_shield_zone_ddos_sensitivity"), "ddos sensitivity", "level", "level"),
                    _setting(_FEATURES, "$1", "feature", "on"),
                )
            ),
            width=80,
        ),
    ),
    panel(
        "Learning mode ending",
        "Zones in learning mode, by the time that is left; below zero it should have ended. At most 50.",
        "Before it ends, read what the zone logged and make exceptions for what is yours: from then on it"
        " blocks. Below zero, learning was left on: end it at the platform.",
        Table(sort="Left", ascending=True, none="No zone is learning, or none has an end."),
        *columns.OF_SHIELD_ZONE,
        Column("Left", ZONES.highest(bottom(_LEARNING_LEFT, 50)), unit="s", steps=red_then_warn(0, 2 * 86400)),
        Query(ZONES.ranked(INFO, bottom(_LEARNING_LEFT, 50), "pull_zone")),
    ),
    panel(
        "Zones",
        "Shield zones and how they are protected; at most 100.",
        "Off and not learning: nothing protects the pull zone. Many disabled or log-only rules weaken the WAF:"
        " check whether each is still needed.",
        Table(sort="Zone", ascending=True, height=9),
        *columns.OF_SHIELD_ZONE,
        Column("Plan", label="plan"),
        Column("WAF", ZONES.ranked(_WAF, _ZONE_SHOWN), words=ON_OR_OFF, width=70),
        Column("WAF mode", label="waf_mode", width=100, words=MODE_WORDS),
        Column("DDoS", label="ddos_mode", width=70, words=MODE_WORDS),
        Column("Learning", ZONES.ranked(_LEARNING, _ZONE_SHOWN), words=_LEARNING_WORDS),
        Column("Rules off", ZONES.ranked(_rules("disabled"), _ZONE_SHOWN)),
        Column("Log only", ZONES.ranked(_rules("log_only"), _ZONE_SHOWN)),
        Column("Custom", ZONES.ranked(_rules("custom"), _ZONE_SHOWN)),
        columns.share("Rules used", _used(ZONES.highest(_rules("custom")), "custom_waf")),
        columns.share("Limits used", _used(count(_OVERALL, *ZONES.one), "rate_limit")),
        Query(ZONES.highest(_ZONE_SHOWN, "pull_zone_id", "pull_zone", "plan")),
        Query(_mode("waf", "waf_mode")),
        Query(_mode("ddos", "ddos_mode")),
    ),
)

PAGE = Page(
    uid=links.SHIELD,
    title="Edge platform / Shield",
    about="Breaches of rate limits, the modes of zones, learning modes about to end, and how near rules are to limits.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.SHIELD_ZONES),
    rows=(_NOW, _BREACHES, _ZONES, RULES, GUARDIANS),
    ranked=True,
    annotations=(
        *annotations.ON_EVERY_PAGE,
        Annotation(
            name="Access lists",
            query=Query(
                f"{LISTS.highest(LISTS.gauge('edge_shield_access_list_info'), 'checksum')}"
                " unless on (account, shield_zone_id, access_list_id, checksum)"
                f" {ZONES.gauge('edge_shield_access_list_info', at=' offset 15m')}"
                f" and on (account, shield_zone_id, access_list_id)"
                f" {ZONES.gauge('edge_shield_access_list_info', at=' offset 15m')}",
                quiet="an access list's content changes",
            ),
            title="{{access_list}} changed",
            text="Access list {{access_list}} ({{access_list_id}}) of zone {{shield_zone_id}} has new content.",
            colour="purple",
        ),
    ),
)
