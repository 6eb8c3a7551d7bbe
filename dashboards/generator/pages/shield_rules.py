"""The Shield page's rows of rules, access lists, API guardians and bots."""

from dataclasses import replace

from dashboards.generator import columns
from dashboards.generator.colours import MODE_WORDS, YES_OR_NO
from dashboards.generator.page import Column, Query, Table
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import highest, top, total, with_label
from dashboards.generator.selectors import ACCOUNT, SHIELD_ZONE, gauge
from dashboards.generator.things import Things

_CHOSEN, _ONE = (ACCOUNT, SHIELD_ZONE), ("account", "shield_zone_id")
ZONES = Things(_CHOSEN, _ONE, _ONE)
LIMITS = Things(_CHOSEN, (*_ONE, "rate_limit_id"), (*_ONE, "rate_limit_id", "rate_limit"))
LISTS = Things(_CHOSEN, (*_ONE, "access_list_id"), (*_ONE, "access_list_id", "access_list"))
TABLE_ROWS = 100
INFO = ZONES.gauge("edge_shield_zone_info")


def with_pull_zone(expr: str) -> str:
    """Add the pull zones' names, where they are known."""
    return with_label(expr, INFO, "pull_zone", *ZONES.one)


_GUARDIAN_SHOWN = top(ZONES.gauge("edge_shield_api_guardian_info"), TABLE_ROWS)
_ENDPOINTS = ZONES.total(ZONES.gauge("edge_shield_api_guardian_endpoints"))
_ENDPOINTS_ON = ZONES.gauge("edge_shield_api_guardian_endpoints", 'enabled="true"')


def _of_rules(name: str) -> str:
    return ZONES.highest(top(ZONES.gauge(name), TABLE_ROWS), "rule_id", "rule")


def _guardian_limit(limit: str) -> str:
    return ZONES.highest(ZONES.gauge("edge_shield_api_guardian_limit", f'limit="{limit}"'))


_GUARDIAN_USED = ZONES.ratio(_ENDPOINTS, _guardian_limit("endpoints"))
_THOROUGH = total(ZONES.gauge("edge_shield_bot_detection_complex_fingerprint_enabled"))
_SENSITIVITIES = (
    f"{total(ZONES.gauge('edge_shield_bot_detection_sensitivity'), 'signal', 'level')} > 0"
    f' or label_replace(label_replace({_THOROUGH}, "signal", "thorough fingerprints", "", ""), "level", "on", "", "")'
)
_LISTS_SHOWN = top(ZONES.gauge("edge_shield_access_list_entries"), TABLE_ROWS)

RULES = row(
    "Rules and their limits",
    (8, 16, 24),
    panel(
        "Rules that plans offer",
        "Managed WAF rules by plan and rule set.",
        "It changes when the platform revises its rules: expect new log entries then.",
        Table(sort="Rules"),
        Column("Plan", label="plan", width=75),
        Column("Rule set", label="ruleset"),
        Column(
            "Rules",
            Query(
                total(highest(gauge("edge_shield_waf_plan_rules", ACCOUNT), "plan", "ruleset"), "plan", "ruleset"),
                "{{plan}}: {{ruleset}}",
            ),
        ),
    ),
    panel(
        "Custom rules watched",
        "Custom WAF rules of the configuration, with the number of conditions of each; at most 100.",
        "A rule with fewer conditions matches more requests than before.",
        Table(sort="Conditions", none="The configuration names no waf_custom_rules."),
        replace(columns.ACCOUNT, width=90),
        columns.SHIELD_ZONE,
        replace(columns.PULL_ZONE, width=105),
        Column("Id", label="rule_id", width=60),
        Column("Rule", label="rule"),
        Column("Conditions", with_pull_zone(_of_rules("edge_shield_waf_custom_rule_conditions")), width=115),
        Query(_of_rules("edge_shield_waf_custom_rule_info")),
    ),
    panel(
        "Access lists",
        "Access lists of the configuration, the longest first; at most 100. Changes are marked on graphs.",
        "Compare a change that no one of you made with what the list should hold.",
        Table(sort="Entries", height=6, none="The configuration names no access_lists."),
        *columns.OF_SHIELD_ZONE,
        Column("Access list", label="access_list"),
        Column("Entries", with_pull_zone(LISTS.highest(_LISTS_SHOWN))),
        columns.moment(
            "Modified",
            LISTS.ranked(LISTS.gauge("edge_shield_access_list_last_modified_timestamp_seconds"), _LISTS_SHOWN),
        ),
        Column("Checksum", label="checksum"),
        Query(LISTS.ranked(LISTS.gauge("edge_shield_access_list_info"), _LISTS_SHOWN, "checksum")),
    ),
)

GUARDIANS = row(
    "API guardians and bots",
    (12, 12, 24),
    panel(
        "Guardian checks in use",
        "The share of enabled endpoints with each check on.",
        "Authorization below 100 % is worth a question for each endpoint without it.",
        Table(sort="Check", ascending=True, none="No zone has an API guardian."),
        Column("Check", label="check"),
        Column(
            "Endpoints with it",
            Query(
                f"{total(ZONES.gauge('edge_shield_api_guardian_endpoint_checks'), 'check')}"
                f" / on () group_left () (sum({_ENDPOINTS_ON}) > 0)",
                "{{check}}",
            ),
            unit="percentunit",
            decimals=0,
        ),
    ),
    panel(
        "Bot detection",
        "Shield zones by signal and sensitivity of bot detection, and how many fingerprint browsers the thorough way.",
        "Signals that are off let that kind of bot through; a fall in thorough fingerprints is a zone whose bot"
        " detection was made weaker.",
        Table(sort="Signal", ascending=True, none="No zone's plan has bot detection."),
        Column("Signal", label="signal"),
        Column("Sensitivity", label="level", words=MODE_WORDS),
        Column("Zones", _SENSITIVITIES, width=80),
    ),
    panel(
        "API guardians",
        "Each API guardian with its endpoints and the limits of its schemas: fields of a type, depth, nodes,"
        " length of a pattern; at most 100.",
        "A schema near its limits of fields, depth, nodes or patterns is refused when it next grows.",
        Table(sort="Endpoints", none="No zone has an API guardian."),
        *columns.OF_SHIELD_ZONE,
        Column("Title", label="title"),
        Column("Version", label="version", width=90),
        Column(
            "On",
            ZONES.ranked(ZONES.gauge("edge_shield_api_guardian_enabled"), _GUARDIAN_SHOWN),
            words=YES_OR_NO,
            width=60,
        ),
        Column("Endpoints", ZONES.among(_ENDPOINTS, _GUARDIAN_SHOWN)),
        Column("Enabled", ZONES.among(ZONES.total(_ENDPOINTS_ON), _GUARDIAN_SHOWN)),
        Column("At most", ZONES.among(_guardian_limit("endpoints"), _GUARDIAN_SHOWN)),
        columns.share("Used", ZONES.among(_GUARDIAN_USED, _GUARDIAN_SHOWN), width=80),
        Column("Fields", ZONES.among(_guardian_limit("fields_per_type"), _GUARDIAN_SHOWN), width=85),
        Column("Depth", ZONES.among(_guardian_limit("nesting_depth"), _GUARDIAN_SHOWN), width=80),
        Column("Nodes", ZONES.among(_guardian_limit("schema_nodes"), _GUARDIAN_SHOWN), width=80),
        Column("Pattern", ZONES.among(_guardian_limit("regex_length"), _GUARDIAN_SHOWN)),
        columns.moment(
            "Updated", ZONES.ranked(ZONES.gauge("edge_shield_api_guardian_updated_timestamp_seconds"), _GUARDIAN_SHOWN)
        ),
        Query(with_pull_zone(ZONES.highest(_GUARDIAN_SHOWN, "title", "version"))),
    ),
)
