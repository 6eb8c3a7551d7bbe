"""Shield: breaches of rate limits, protection of zones, API guardians and access lists."""

from dataclasses import replace

from dashboards.generator import columns, links, variables
from dashboards.generator.colours import (
    ACTION_PAINT,
    MODE_WORDS,
    ON_OR_OFF,
    YES_OR_NO,
    Colour,
    Word,
    red_then_warn,
)
from dashboards.generator.intervals import step_of
from dashboards.generator.page import Annotation, Column, Page, Query, Table, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import bottom, count, top, total, with_label
from dashboards.generator.selectors import ACCOUNT, AT_END, SHIELD_ZONE, increase
from dashboards.generator.target_series import TargetSeries

_CHOSEN, _ONE = (ACCOUNT, SHIELD_ZONE), ("account", "shield_zone_id")
ZONES = TargetSeries(_CHOSEN, _ONE, _ONE)
LIMITS = TargetSeries(_CHOSEN, (*_ONE, "rate_limit_id"), (*_ONE, "rate_limit_id", "rate_limit"))
LISTS = TargetSeries(_CHOSEN, (*_ONE, "access_list_id"), (*_ONE, "access_list_id", "access_list"))
TABLE_ROWS = 100
INFO = ZONES.gauge("edge_shield_zone_info")
_WAF = ZONES.gauge("edge_shield_zone_waf_enabled")
_BREACH_RATE = ZONES.rate("edge_shield_rate_limit_breaches_total")
_TODAY = ZONES.gauge("edge_shield_rate_limit_day_breaches")
_OVERALL = ZONES.gauge("edge_shield_rate_limit_window_breaches_overall")
_LIMIT_TODAY = LIMITS.total(_TODAY)
_USUAL_DAY = f"{LIMITS.each(_OVERALL)} / 28"
_AGAINST_USUAL = LIMITS.ratio(_LIMIT_TODAY, _USUAL_DAY)
_MOST_BREACHED_TODAY = top(f"({_LIMIT_TODAY})", 50)
_MOST_BREACHED = top(LIMITS.each(LIMITS.gauge("edge_shield_rate_limit_window_breaches_overall", at=AT_END)))
_LAST_HOUR = increase("edge_shield_rate_limit_breaches_total", *LIMITS.chosen, over="1h")
# The step of queries for breaches, which change more often than the names of pull zones.
_STEP = step_of(_BREACH_RATE)
# If the platform's days are plain numbers, the action is unknown: some of these breaches may have been blocked.
_MAY_BE_BLOCKED = 'action=~"blocked|unclassified"'
_BLOCKED = LIMITS.total(ZONES.gauge("edge_shield_rate_limit_day_breaches", _MAY_BE_BLOCKED))
_BLOCKED_WINDOW = LIMITS.total(ZONES.gauge("edge_shield_rate_limit_window_breaches", _MAY_BE_BLOCKED))
_LEARNING = ZONES.gauge("edge_shield_zone_learning_mode")
_LEARNING_UNTIL = ZONES.gauge("edge_shield_zone_learning_mode_until_timestamp_seconds")
_ZONE_SHOWN = top(INFO, TABLE_ROWS)
_LEARNING_LEFT = f"(({_LEARNING_UNTIL} - time()) and on (account, shield_zone_id) ({_LEARNING} == 1))"


def _with_pull_zone(expr: str) -> str:
    return with_label(expr, INFO, "pull_zone", *ZONES.one)


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
    """Count the zones by the value of a setting, with the labels `setting` and `value`.

    Args:
        expr: a query with series by zone and value: 1 for a value that the setting has in the zone, else 0.
        setting: the name of the setting, in which `$1` is replaced by the value of `label`.
        label: the label that `$1` stands for.
        value: the label with the setting's value.
    """
    named = f'label_replace({expr}, "setting", "{setting}", "{label}", "(.+)")'
    return f'sum by (setting, value) (label_replace({named}, "value", "$1", "{value}", "(.+)")) > 0'


# `_setting` needs a label with the value of the setting. These metrics have none, so they get the label `on`.
_FEATURES = f"label_replace({ZONES.gauge('edge_shield_zone_feature_enabled')}, 'on', 'on', '', '')"
_THOROUGH = f"label_replace({ZONES.gauge('edge_shield_bot_detection_complex_fingerprint_enabled')}, 'on', 'on', '', '')"

_LEARNING_WORDS = (Word("1", "learning", Colour.WARN), Word("0", "no", Colour.QUIET))

_BREACHES = row(
    "Rate limits",
    (24, 12, 12),
    panel(
        "Rate limits",
        "Breaches of today (UTC), compared with the mean of 28 days; the 50 rate limits with the most. Blocked includes"
        " breaches without a known action.",
        "If the share is over 100 % and the last hour has breaches, the burst continues. Look in the zone's logs for"
        " the clients; block them, or raise the limit if they are yours.",
        Table(sort="Today", none="No rate limit is known."),
        replace(columns.ACCOUNT, width=90),
        replace(columns.SHIELD_ZONE, hidden=True),
        columns.PULL_ZONE,
        Column("Rate limit", label="rate_limit"),
        Column("Today", Query(_with_pull_zone(_MOST_BREACHED_TODAY), step=_STEP)),
        Column("Usual day", LIMITS.among(f"{LIMITS.highest(_OVERALL)} / 28", _MOST_BREACHED_TODAY)),
        columns.share("Of usual", LIMITS.among(_AGAINST_USUAL, _MOST_BREACHED_TODAY)),
        Column("Last hour", LIMITS.among(LIMITS.total(_LAST_HOUR), _MOST_BREACHED_TODAY)),
        Column("Blocked", LIMITS.among(_BLOCKED, _MOST_BREACHED_TODAY)),
        Column("Blocked, 28 days", LIMITS.among(_BLOCKED_WINDOW, _MOST_BREACHED_TODAY)),
    ),
    panel(
        "Breaches by action",
        "Breaches a minute by action, such as blocked.",
        "A short peak of blocked requests is probably an attack that was stopped. If breaches are only logged for a"
        " long time, consider challenging or blocking.",
        TimeSeries(unit="suffix: per min", stack=True, painted=ACTION_PAINT),
        # Breaches are rare, so rates are for a minute.
        Query(f"60 * {total(_BREACH_RATE, 'action')}", "{{action}}"),
    ),
    panel(
        "Breaches by rate limit",
        "Breaches a minute of the rate limits with the most in 28 days.",
        "If one limit rises, look at its path; if all limits rise, at the whole zone.",
        TimeSeries(unit="suffix: per min"),
        Query(
            _with_pull_zone(LIMITS.among(f"60 * {LIMITS.total(_BREACH_RATE)}", _MOST_BREACHED)),
            "{{rate_limit}} ({{pull_zone}} {{shield_zone_id}})",
            step=_STEP,
        ),
    ),
)

_SETTINGS = " or ".join(
    (
        _setting(ZONES.gauge("edge_shield_zone_execution_mode"), "$1 engine", "engine", "mode"),
        _setting(ZONES.gauge("edge_shield_zone_ddos_sensitivity"), "ddos sensitivity", "level", "level"),
        _setting(ZONES.gauge("edge_shield_bot_detection_sensitivity"), "bots: $1", "signal", "level"),
        _setting(_THOROUGH, "bots: thorough fingerprints", "on", "on"),
        _setting(_FEATURES, "$1", "feature", "on"),
    )
)
_ZONES = row(
    "Protection of zones",
    (12, 12, 24),
    panel(
        "Settings of zones",
        "How many shield zones have each setting: modes of engines, sensitivities, and features that are on.",
        "An engine in log mode does not protect the zone. With DDoS sensitivity off, floods are not stopped. With a"
        " bot signal off, that kind of bot passes. Logged request bodies may contain personal data.",
        Table(sort="Setting", ascending=True),
        Column("Setting", label="setting"),
        Column("Value", label="value", words=MODE_WORDS),
        Column("Zones", _SETTINGS, width=80),
    ),
    panel(
        "Learning mode ending",
        "Zones in learning mode and the time until its end; below zero it should have ended. At most 50.",
        "When learning ends, the zone begins to block: before that, add exceptions for your own requests in the zone's"
        " log. Below zero, end the learning mode on the platform.",
        Table(sort="Left", ascending=True, none="No zone is learning, or none has an end."),
        *columns.OF_SHIELD_ZONE,
        Column("Left", ZONES.highest(bottom(_LEARNING_LEFT, 50)), unit="s", steps=red_then_warn(0, 2 * 86400)),
        Query(ZONES.ranked(INFO, bottom(_LEARNING_LEFT, 50), "pull_zone")),
    ),
    panel(
        "Zones",
        "Shield zones and how they are protected; at most 100.",
        "If the WAF is off, no rules of the WAF protect the zone. Many disabled or log-only rules weaken the WAF.",
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

_LISTED = top(ZONES.gauge("edge_shield_access_list_entries"), TABLE_ROWS)
_MODIFIED = LISTS.gauge("edge_shield_access_list_last_modified_timestamp_seconds")
_CHECKSUM = LISTS.gauge("edge_shield_access_list_info")
_CHECKSUM_BEFORE = LISTS.gauge("edge_shield_access_list_info", at=" offset 15m")
_GUARDED = top(ZONES.gauge("edge_shield_api_guardian_info"), TABLE_ROWS)
_GUARDIAN_ON = ZONES.gauge("edge_shield_api_guardian_enabled")
_UPDATED = ZONES.gauge("edge_shield_api_guardian_updated_timestamp_seconds")
_ENDPOINTS = ZONES.total(ZONES.gauge("edge_shield_api_guardian_endpoints"))
_ENDPOINTS_ON = ZONES.gauge("edge_shield_api_guardian_endpoints", 'enabled="true"')
_ENDPOINTS_MOST = ZONES.highest(ZONES.gauge("edge_shield_api_guardian_limit", 'limit="endpoints"'))
_GUARDIANS = row(
    "Access lists and API guardians",
    (24, 24),
    panel(
        "Access lists",
        "Access lists of the configuration, the longest first; at most 100. Changes are marked on graphs.",
        "If you do not know a change, compare the list with what it should contain.",
        Table(sort="Entries", height=6, none="The configuration names no access_lists."),
        *columns.OF_SHIELD_ZONE,
        Column("Access list", label="access_list"),
        Column("Entries", _with_pull_zone(LISTS.highest(_LISTED))),
        columns.moment("Modified", LISTS.ranked(_MODIFIED, _LISTED)),
        Column("Checksum", label="checksum"),
        Query(LISTS.ranked(_CHECKSUM, _LISTED, "checksum")),
    ),
    panel(
        "API guardians",
        "Each API guardian with its endpoints; at most 100.",
        "Near the limit of endpoints, a larger schema will be refused.",
        Table(sort="Endpoints", none="No zone has an API guardian."),
        *columns.OF_SHIELD_ZONE,
        Column("Title", label="title"),
        Column("Version", label="version", width=90),
        Column("On", ZONES.ranked(_GUARDIAN_ON, _GUARDED), words=YES_OR_NO, width=60),
        Column("Endpoints", ZONES.among(_ENDPOINTS, _GUARDED)),
        Column("Enabled", ZONES.among(ZONES.total(_ENDPOINTS_ON), _GUARDED), width=90),
        columns.share("Used", ZONES.among(ZONES.ratio(_ENDPOINTS, _ENDPOINTS_MOST), _GUARDED), width=80),
        columns.moment("Updated", ZONES.ranked(_UPDATED, _GUARDED), width=120),
        Query(_with_pull_zone(ZONES.highest(_GUARDED, "title", "version"))),
    ),
)

PAGE = Page(
    uid=links.SHIELD,
    title="Edge platform / Shield",
    about="Breaches of rate limits, the modes of zones, learning modes about to end, and how near rules are to limits.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.SHIELD_ZONES),
    rows=(_BREACHES, _ZONES, _GUARDIANS),
    annotations=(
        Annotation(
            name="Access lists",
            query=Query(
                f"{LISTS.highest(_CHECKSUM, 'checksum')}"
                f" unless on (account, shield_zone_id, access_list_id, checksum) {_CHECKSUM_BEFORE}"
                f" and on (account, shield_zone_id, access_list_id) {_CHECKSUM_BEFORE}",
                quiet="an access list's content changes",
            ),
            title="{{access_list}} changed",
            text="Access list {{access_list}} ({{access_list_id}}) of zone {{shield_zone_id}} has new content.",
            colour="purple",
        ),
    ),
)
