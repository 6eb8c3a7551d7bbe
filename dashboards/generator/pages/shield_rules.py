"""The Shield page's rows of rules, access lists, API guardians and bots."""

from dataclasses import replace

from dashboards.generator import columns
from dashboards.generator.page import (
    MODE_WORDS,
    YES_OR_NO,
    Column,
    Panel,
    Row,
    table,
    warn_then_red,
)
from dashboards.generator.queries import shield as queries

RULES = Row(
    "Rules and their limits",
    (
        Panel(
            title="Rules that plans offer",
            shows="Managed WAF rules by plan and rule set.",
            act="It changes when the platform revises its rules: expect new log entries then.",
            queries=(queries.PLAN_RULES,),
            view=table(
                Column("Plan", label="plan", width=75),
                Column("Rule set", label="ruleset"),
                Column("Rules"),
                sort="Rules",
            ),
            width=8,
        ),
        Panel(
            title="Custom rules watched",
            shows="Custom WAF rules of the configuration, with the number of conditions of each; at most 100.",
            act="A rule with fewer conditions matches more requests than before.",
            queries=(queries.RULE_CONDITIONS, queries.RULE_INFO),
            view=table(
                replace(columns.ACCOUNT, width=90),
                columns.SHIELD_ZONE,
                replace(columns.PULL_ZONE, width=105),
                Column("Id", label="rule_id", width=60),
                Column("Rule", label="rule"),
                Column("Conditions", width=115),
                sort="Conditions",
            ),
            width=16,
            none="The configuration names no waf_custom_rules.",
        ),
        Panel(
            title="Access lists",
            shows="Access lists of the configuration, the longest first; at most 100. Changes are marked on graphs.",
            act="Compare a change that no one of you made with what the list should hold.",
            queries=(queries.LIST_ENTRIES, queries.LIST_MODIFIED, queries.LIST_CHECKSUM),
            view=table(
                columns.ACCOUNT,
                columns.SHIELD_ZONE,
                columns.PULL_ZONE,
                Column("Access list", label="access_list"),
                Column("Entries"),
                Column("Modified", unit="dateTimeFromNow"),
                Column("Checksum", label="checksum"),
                sort="Entries",
            ),
            width=24,
            height=6,
            none="The configuration names no access_lists.",
        ),
    ),
)

GUARDIANS = Row(
    "API guardians and bots",
    (
        Panel(
            title="Guardian checks in use",
            shows="The share of enabled endpoints with each check on.",
            act="Authorization below 100 % is worth a question for each endpoint without it.",
            queries=(queries.GUARDIAN_CHECKS,),
            view=table(
                Column("Check", label="check"),
                Column("Endpoints with it", unit="percentunit", decimals=0),
                sort="Check",
                ascending=True,
            ),
            width=12,
            none="No zone has an API guardian.",
        ),
        Panel(
            title="Bot detection",
            shows="Shield zones by signal and sensitivity of bot detection, and how many fingerprint browsers the"
            " thorough way.",
            act="Signals that are off let that kind of bot through; a fall in thorough fingerprints is a zone whose bot"
            " detection was made weaker.",
            queries=(queries.BOT_SENSITIVITIES,),
            view=table(
                Column("Signal", label="signal"),
                Column("Sensitivity", label="level", words=MODE_WORDS),
                Column("Zones", width=80),
                sort="Signal",
                ascending=True,
            ),
            width=12,
            none="No zone's plan has bot detection.",
        ),
        Panel(
            title="API guardians",
            shows="Each API guardian with its endpoints and the limits of its schemas: fields of a type, depth, nodes,"
            " length of a pattern; at most 100.",
            act="A schema near its limits of fields, depth, nodes or patterns is refused when it next grows.",
            queries=(
                queries.GUARDIAN_ENABLED,
                queries.GUARDIAN_ENDPOINTS,
                queries.GUARDIAN_ENDPOINTS_ON,
                queries.GUARDIAN_LIMIT_ENDPOINTS,
                queries.GUARDIAN_USED,
                queries.GUARDIAN_LIMIT_FIELDS,
                queries.GUARDIAN_LIMIT_DEPTH,
                queries.GUARDIAN_LIMIT_NODES,
                queries.GUARDIAN_LIMIT_REGEX,
                queries.GUARDIAN_UPDATED,
                queries.GUARDIAN_INFO,
            ),
            view=table(
                columns.ACCOUNT,
                columns.SHIELD_ZONE,
                columns.PULL_ZONE,
                Column("Title", label="title"),
                Column("Version", label="version", width=90),
                Column("On", words=YES_OR_NO, width=60),
                Column("Endpoints"),
                Column("Enabled"),
                Column("At most"),
                Column("Used", unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1), width=80),
                Column("Fields", width=85),
                Column("Depth", width=80),
                Column("Nodes", width=80),
                Column("Pattern"),
                Column("Updated", unit="dateTimeFromNow"),
                sort="Endpoints",
            ),
            width=24,
            none="No zone has an API guardian.",
        ),
    ),
)
