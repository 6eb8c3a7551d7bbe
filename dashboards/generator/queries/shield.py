"""Defines queries for shield: breaches of rate limits, modes of zones, and numbers of rules against their limits."""

from dashboards.generator.intervals import step_of
from dashboards.generator.page import Query
from dashboards.generator.promql import (
    ACCOUNT,
    AT_END,
    SHIELD_ZONE,
    among,
    bottom,
    count,
    gauge,
    highest,
    increase,
    milliseconds,
    rate,
    ratio,
    top,
    total,
    with_label,
)
from dashboards.generator.queries import findings
from dashboards.generator.queries.truth import SILENT, known, old

SCOPE = (ACCOUNT, SHIELD_ZONE)
ONE_ZONE = ("account", "shield_zone_id")
ONE_LIMIT = ("account", "shield_zone_id", "rate_limit_id")
NAMED_LIMIT = (*ONE_LIMIT, "rate_limit")
TABLE_ROWS = 100

_BREACH_RATE = rate("edge_shield_rate_limit_breaches_total", *SCOPE)
_TODAY = gauge("edge_shield_rate_limit_day_breaches", *SCOPE)
_OVERALL = gauge("edge_shield_rate_limit_window_breaches_overall", *SCOPE)
_LIMIT_TODAY = total(_TODAY, *NAMED_LIMIT)
_USUAL_DAY = f"{highest(_OVERALL, *ONE_LIMIT)} / 28"
_AGAINST_USUAL = ratio(_LIMIT_TODAY, _USUAL_DAY, *ONE_LIMIT)
_INFO = gauge("edge_shield_zone_info", *SCOPE)


def _with_pull_zone(expr: str) -> str:
    return with_label(expr, _INFO, "pull_zone", *ONE_ZONE)


_MOST_AGAINST_USUAL = top(_AGAINST_USUAL, 50)
_MOST_BREACHED = top(highest(gauge("edge_shield_rate_limit_window_breaches_overall", *SCOPE, at=AT_END), *ONE_LIMIT))
_LAST_HOUR = increase("edge_shield_rate_limit_breaches_total", *SCOPE, over="1h")

# Breaches change more often than the name of a pull zone.
_STEP = step_of(_BREACH_RATE)

# Breaches are rare, so rates are for a minute.
BREACHES = Query(f"60 * {total(_BREACH_RATE)}", "breaches a minute")
BREACHES_BY_ACTION = Query(f"60 * {total(_BREACH_RATE, 'action')}", "{{action}}")
BREACHES_OF_ALL_ZONES = Query(
    f"60 * {total(rate('edge_shield_rate_limit_breaches_total', ACCOUNT), 'action')}", "{{action}}"
)
BREACHES_OF_TOP_LIMITS = Query(
    _with_pull_zone(among(f"60 * {total(_BREACH_RATE, *NAMED_LIMIT)}", _MOST_BREACHED, *ONE_LIMIT)),
    "{{rate_limit}} ({{pull_zone}} {{shield_zone_id}})",
    step=_STEP,
)
# If the platform's days are plain numbers, the action is unknown: some of these breaches may have been blocked.
_MAY_BE_BLOCKED = 'action=~"blocked|unclassified"'
BLOCKED_TODAY = Query(
    total(gauge("edge_shield_rate_limit_day_breaches", *SCOPE, 'action="blocked"'), "action")
    + " or "
    + total(gauge("edge_shield_rate_limit_day_breaches", *SCOPE, 'action="unclassified"'), "action")
    + " > 0",
    "{{action}}",
)
LIMIT_AGAINST_USUAL = Query(_with_pull_zone(_MOST_AGAINST_USUAL), step=_STEP)
LIMIT_TODAY = Query(among(_LIMIT_TODAY, _MOST_AGAINST_USUAL, *ONE_LIMIT))
LIMIT_USUAL_DAY = Query(among(f"{highest(_OVERALL, *NAMED_LIMIT)} / 28", _MOST_AGAINST_USUAL, *ONE_LIMIT))
# What the platform counts without an action may have been blocked, too.
_BLOCKED = total(gauge("edge_shield_rate_limit_day_breaches", *SCOPE, _MAY_BE_BLOCKED), *NAMED_LIMIT)
_BLOCKED_WINDOW = total(gauge("edge_shield_rate_limit_window_breaches", *SCOPE, _MAY_BE_BLOCKED), *NAMED_LIMIT)
_BLOCKED_HOUR = total(
    increase("edge_shield_rate_limit_breaches_total", *SCOPE, _MAY_BE_BLOCKED, over="1h"), *NAMED_LIMIT
)
_MOST_BLOCKED = top(f"({_BLOCKED})", 50)
LIMIT_BLOCKED = Query(_with_pull_zone(_MOST_BLOCKED), step=_STEP)
LIMIT_BLOCKED_HOUR = Query(among(_BLOCKED_HOUR, _MOST_BLOCKED, *ONE_LIMIT))
LIMIT_BLOCKED_WINDOW = Query(among(_BLOCKED_WINDOW, _MOST_BLOCKED, *ONE_LIMIT))
LIMITS_IN_BURST = Query(
    known(f"count({findings.bursts(SHIELD_ZONE)}) or 0 * count({_OVERALL})", SILENT, old("shield_rate_limits")),
    "rate limits",
)
LIMIT_LAST_HOUR = Query(among(total(_LAST_HOUR, *NAMED_LIMIT), _MOST_AGAINST_USUAL, *ONE_LIMIT))

_WAF = gauge("edge_shield_zone_waf_enabled", *SCOPE)
_LEARNING = gauge("edge_shield_zone_learning_mode", *SCOPE)
_LEARNING_UNTIL = gauge("edge_shield_zone_learning_mode_until_timestamp_seconds", *SCOPE)
_ZONE_SHOWN = top(_INFO, TABLE_ROWS)
_LEARNING_LEFT = f"(({_LEARNING_UNTIL} - time()) and on (account, shield_zone_id) ({_LEARNING} == 1))"


def _mode(engine: str, label: str) -> str:
    chosen = gauge("edge_shield_zone_execution_mode", *SCOPE, f'engine="{engine}"')
    renamed = f'label_replace({chosen} == 1, "{label}", "$1", "mode", "(.+)")'
    return highest(among(renamed, _ZONE_SHOWN, *ONE_ZONE), *ONE_ZONE, label)


def _rules(state: str) -> str:
    return gauge("edge_shield_zone_waf_rules", *SCOPE, f'state="{state}"')


ZONES = Query(total(highest(gauge("edge_shield_zones", ACCOUNT), "account")), "zones")
WAF_OFF = Query(
    known(f"count({findings.waf_off(SHIELD_ZONE)}) or 0 * count({_WAF})", SILENT, old("shield_zones")), "zones"
)
LEARNING = Query(total(_LEARNING), "zones")


def _setting(expr: str, setting: str, label: str, value: str) -> str:
    named = f'label_replace({expr}, "setting", "{setting}", "{label}", "(.+)")'
    return f'sum by (setting, value) (label_replace({named}, "value", "$1", "{value}", "(.+)")) > 0'


_FEATURES = f"label_replace({gauge('edge_shield_zone_feature_enabled', *SCOPE)}, 'on', 'on', '', '')"
SETTINGS = Query(
    " or ".join(
        (
            _setting(gauge("edge_shield_zone_execution_mode", *SCOPE), "$1 engine", "engine", "mode"),
            _setting(gauge("edge_shield_zone_ddos_sensitivity", *SCOPE), "ddos sensitivity", "level", "level"),
            _setting(_FEATURES, "$1", "feature", "on"),
        )
    )
)
LEARNING_LEFT = Query(highest(bottom(_LEARNING_LEFT, 50), *ONE_ZONE))
LEARNING_NAMES = Query(highest(among(_INFO, bottom(_LEARNING_LEFT, 50), *ONE_ZONE), *ONE_ZONE, "pull_zone"))
ZONE_INFO = Query(highest(_ZONE_SHOWN, *ONE_ZONE, "pull_zone_id", "pull_zone", "plan"))
ZONE_WAF = Query(highest(among(_WAF, _ZONE_SHOWN, *ONE_ZONE), *ONE_ZONE))
ZONE_WAF_MODE = Query(_mode("waf", "waf_mode"))
ZONE_DDOS_MODE = Query(_mode("ddos", "ddos_mode"))
ZONE_LEARNING = Query(highest(among(_LEARNING, _ZONE_SHOWN, *ONE_ZONE), *ONE_ZONE))
ZONE_DISABLED_RULES = Query(highest(among(_rules("disabled"), _ZONE_SHOWN, *ONE_ZONE), *ONE_ZONE))
ZONE_LOG_ONLY_RULES = Query(highest(among(_rules("log_only"), _ZONE_SHOWN, *ONE_ZONE), *ONE_ZONE))
ZONE_CUSTOM_RULES = Query(highest(among(_rules("custom"), _ZONE_SHOWN, *ONE_ZONE), *ONE_ZONE))

ZONE_CUSTOM_USED = Query(
    among(
        ratio(
            highest(_rules("custom"), *ONE_ZONE),
            highest(gauge("edge_shield_zone_rules_limit", *SCOPE, 'rule_kind="custom_waf"'), *ONE_ZONE),
            *ONE_ZONE,
        ),
        _ZONE_SHOWN,
        *ONE_ZONE,
    )
)
ZONE_LIMITS_USED = Query(
    among(
        ratio(
            count(_OVERALL, *ONE_ZONE),
            highest(gauge("edge_shield_zone_rules_limit", *SCOPE, 'rule_kind="rate_limit"'), *ONE_ZONE),
            *ONE_ZONE,
        ),
        _ZONE_SHOWN,
        *ONE_ZONE,
    )
)

_GUARDIAN_SHOWN = top(gauge("edge_shield_api_guardian_info", *SCOPE), TABLE_ROWS)
_ENDPOINTS = total(gauge("edge_shield_api_guardian_endpoints", *SCOPE), *ONE_ZONE)
_ENDPOINTS_ON = gauge("edge_shield_api_guardian_endpoints", *SCOPE, 'enabled="true"')


def _guardian_limit(limit: str) -> str:
    return highest(gauge("edge_shield_api_guardian_limit", *SCOPE, f'limit="{limit}"'), *ONE_ZONE)


_GUARDIAN_USED = ratio(_ENDPOINTS, _guardian_limit("endpoints"), *ONE_ZONE)

GUARDIAN_USED = Query(among(_GUARDIAN_USED, _GUARDIAN_SHOWN, *ONE_ZONE))
GUARDIAN_CHECKS = Query(
    f"{total(gauge('edge_shield_api_guardian_endpoint_checks', *SCOPE), 'check')}"
    f" / on () group_left () (sum({_ENDPOINTS_ON}) > 0)",
    "{{check}}",
)
GUARDIAN_INFO = Query(_with_pull_zone(highest(_GUARDIAN_SHOWN, *ONE_ZONE, "title", "version")))
GUARDIAN_ENABLED = Query(
    highest(among(gauge("edge_shield_api_guardian_enabled", *SCOPE), _GUARDIAN_SHOWN, *ONE_ZONE), *ONE_ZONE)
)
GUARDIAN_ENDPOINTS = Query(among(_ENDPOINTS, _GUARDIAN_SHOWN, *ONE_ZONE))
GUARDIAN_ENDPOINTS_ON = Query(among(total(_ENDPOINTS_ON, *ONE_ZONE), _GUARDIAN_SHOWN, *ONE_ZONE))
GUARDIAN_LIMIT_ENDPOINTS = Query(among(_guardian_limit("endpoints"), _GUARDIAN_SHOWN, *ONE_ZONE))
GUARDIAN_LIMIT_FIELDS = Query(among(_guardian_limit("fields_per_type"), _GUARDIAN_SHOWN, *ONE_ZONE))
GUARDIAN_LIMIT_DEPTH = Query(among(_guardian_limit("nesting_depth"), _GUARDIAN_SHOWN, *ONE_ZONE))
GUARDIAN_LIMIT_NODES = Query(among(_guardian_limit("schema_nodes"), _GUARDIAN_SHOWN, *ONE_ZONE))
GUARDIAN_LIMIT_REGEX = Query(among(_guardian_limit("regex_length"), _GUARDIAN_SHOWN, *ONE_ZONE))
GUARDIAN_UPDATED = Query(
    milliseconds(
        highest(
            among(gauge("edge_shield_api_guardian_updated_timestamp_seconds", *SCOPE), _GUARDIAN_SHOWN, *ONE_ZONE),
            *ONE_ZONE,
        )
    )
)

_THOROUGH = total(gauge("edge_shield_bot_detection_complex_fingerprint_enabled", *SCOPE))
BOT_SENSITIVITIES = Query(
    f"{total(gauge('edge_shield_bot_detection_sensitivity', *SCOPE), 'signal', 'level')} > 0"
    f' or label_replace(label_replace({_THOROUGH}, "signal", "thorough fingerprints", "", ""), "level", "on", "", "")'
)

_LIST = ("account", "shield_zone_id", "access_list_id", "access_list")
_ONE_LIST = ("account", "shield_zone_id", "access_list_id")
_LISTS_SHOWN = top(gauge("edge_shield_access_list_entries", *SCOPE), TABLE_ROWS)
LIST_ENTRIES = Query(_with_pull_zone(highest(_LISTS_SHOWN, *_LIST)))
LIST_MODIFIED = Query(
    milliseconds(
        highest(
            among(gauge("edge_shield_access_list_last_modified_timestamp_seconds", *SCOPE), _LISTS_SHOWN, *_ONE_LIST),
            *_LIST,
        )
    )
)
LIST_CHECKSUM = Query(
    highest(among(gauge("edge_shield_access_list_info", *SCOPE), _LISTS_SHOWN, *_ONE_LIST), *_LIST, "checksum")
)
LIST_CHANGES = Query(
    f"{highest(gauge('edge_shield_access_list_info', *SCOPE), *_LIST, 'checksum')}"
    " unless on (account, shield_zone_id, access_list_id, checksum)"
    f" {gauge('edge_shield_access_list_info', *SCOPE, at=' offset 15m')}"
    f" and on (account, shield_zone_id, access_list_id)"
    f" {gauge('edge_shield_access_list_info', *SCOPE, at=' offset 15m')}",
    quiet="an access list's content changes",
)
RULE_CONDITIONS = Query(
    _with_pull_zone(
        highest(top(gauge("edge_shield_waf_custom_rule_conditions", *SCOPE), TABLE_ROWS), *ONE_ZONE, "rule_id", "rule")
    )
)
RULE_INFO = Query(
    highest(top(gauge("edge_shield_waf_custom_rule_info", *SCOPE), TABLE_ROWS), *ONE_ZONE, "rule_id", "rule")
)
PLAN_RULES = Query(
    total(highest(gauge("edge_shield_waf_plan_rules", ACCOUNT), "plan", "ruleset"), "plan", "ruleset"),
    "{{plan}}: {{ruleset}}",
)
