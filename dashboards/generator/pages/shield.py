"""Shield: breaches, the protection of zones, API guardians, bots and access lists."""

from dataclasses import replace

from dashboards.generator import columns, links, marks, variables
from dashboards.generator.page import (
    ACTION_PAINT,
    MODE_WORDS,
    ON_OR_OFF,
    Colour,
    Column,
    Lines,
    Marks,
    Page,
    Panel,
    Row,
    Word,
    red_then_warn,
    table,
    warn_from,
    warn_then_red,
)
from dashboards.generator.pages import shield_rules
from dashboards.generator.queries import shield as queries
from dashboards.generator.tables import figure, tile

_LEARNING_WORDS = (Word("1", "learning", Colour.WARN), Word("0", "no", Colour.QUIET))
_NOW = Row(
    "Now",
    (
        figure(
            "Breaches a minute",
            "Breaches of rate limits a minute, over the last four polls.",
            "The graph next to it shows the actions, and the one below shows the rate limits.",
            queries.BREACHES,
            trend=True,
            unit="suffix: per min",
            height=3,
        ),
        figure(
            "Blocked today",
            "Requests that rate limits blocked since the UTC day began; and breaches of which the platform does"
            " not say what was done, where there are any.",
            "Read it against the usual day in the table of rate limits.",
            queries.BLOCKED_TODAY,
            height=3,
        ),
        tile(
            "Rate limits in a burst",
            "Rate limits with five times their usual breaches within the last 15 minutes.",
            "The table of what is blocked names them: decide between an attack (leave it blocked) and a limit that is"
            " too low for its traffic (raise it).",
            queries.LIMITS_IN_BURST,
            width=4,
            steps=warn_from(1),
        ),
        tile(
            "WAF switched off",
            "Shield zones whose web application firewall is off, and was on within the last week.",
            "The table of zones names them. If it was not meant, switch it on again at the platform.",
            queries.WAF_OFF,
            width=4,
            trend=False,
        ),
        figure(
            "Learning mode",
            "Shield zones in learning mode: they log what they would block.",
            "Fine for the days of a roll-out; the table of learning zones shows when each ends.",
            queries.LEARNING,
            of=("shield_zones",),
            width=4,
            height=3,
            steps=warn_from(1),
        ),
        figure(
            "Shield zones",
            "Shield zones that the accounts hold, by the platform's own count.",
            "More than the table of zones shows: the others are not read, or filtered by the configuration.",
            queries.ZONES,
            width=4,
            height=3,
        ),
    ),
)

_BREACHES = Row(
    "Rate limits",
    (
        Panel(
            title="What rate limits block",
            shows="Rate limits by the requests that they blocked since the UTC day began, in the last hour, and within"
            " 28 days, with breaches of which the platform does not say what was done; the 50 that block most.",
            act="The limit at the top with a full bar is the one that is attacked, or too low. Look at the zone's logs"
            " for who breaches; leave it, or raise the limit if they are yours.",
            queries=(queries.LIMIT_BLOCKED, queries.LIMIT_BLOCKED_HOUR, queries.LIMIT_BLOCKED_WINDOW),
            view=table(
                replace(columns.ACCOUNT, width=90),
                replace(columns.SHIELD_ZONE, hidden=True),
                columns.PULL_ZONE,
                Column("Rate limit", label="rate_limit"),
                Column("Blocked", decimals=0, width=170, bar=True),
                Column("Last hour", decimals=0, width=110),
                Column("28 days", decimals=0, width=90),
                sort="Blocked",
            ),
            width=12,
            none="No rate limit has blocked anything.",
        ),
        Panel(
            title="Rate limits against their usual day",
            shows="Rate limits by today's breaches as a share of their mean day of the last 28; the 50 highest. The"
            " platform's day is UTC's.",
            act="Over 100 % and growing in the last hour: it happens now. Look at the zone's logs for who breaches;"
            " block them, or raise the limit if they are yours.",
            queries=(
                queries.LIMIT_AGAINST_USUAL,
                queries.LIMIT_TODAY,
                queries.LIMIT_USUAL_DAY,
                queries.LIMIT_LAST_HOUR,
            ),
            view=table(
                replace(columns.ACCOUNT, width=90),
                replace(columns.SHIELD_ZONE, hidden=True),
                columns.PULL_ZONE,
                Column("Rate limit", label="rate_limit"),
                Column("Of usual", unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1), width=96),
                Column("Today", width=72),
                Column("Usual day", decimals=0, width=104),
                Column("Last hour", decimals=0, width=104),
                sort="Of usual",
            ),
            width=12,
            none="No rate limit was breached in 28 days.",
        ),
        Panel(
            title="Breaches by action",
            shows="Breaches a minute by what was done: logged, challenged or blocked.",
            act="A short peak of blocked requests is an attack that was stopped. If breaches are logged for a long"
            " time,"
            " the limit only logs: consider challenging.",
            queries=(queries.BREACHES_BY_ACTION,),
            view=Lines(stack=True, painted=ACTION_PAINT),
            unit="suffix: per min",
            width=12,
        ),
        Panel(
            title="Breaches by rate limit",
            shows="Breaches a minute of the rate limits with the most in 28 days.",
            act="One limit: many requests to its path. All limits: many requests to the whole zone.",
            queries=(queries.BREACHES_OF_TOP_LIMITS,),
            unit="suffix: per min",
            width=12,
        ),
    ),
)

_ZONES = Row(
    "Protection of zones",
    (
        Panel(
            title="Settings of zones",
            shows="How many shield zones have each setting: the modes of their engines, the sensitivity of the DDoS"
            " engine, and features that are on.",
            act="A zone in log mode is not protected; without DDoS sensitivity it is open to floods."
            " Body logging may hold personal data.",
            queries=(queries.SETTINGS,),
            view=table(
                Column("Setting", label="setting"),
                Column("Value", label="value", words=MODE_WORDS),
                Column("Zones", width=80),
                sort="Setting",
                ascending=True,
            ),
            width=12,
        ),
        Panel(
            title="Learning mode ending",
            shows="Zones in learning mode, by the time that is left; below zero it should have ended. At most 50.",
            act="Before it ends, read what the zone logged and make exceptions for what is yours: from then on it"
            " blocks. Below zero, learning was left on: end it at the platform.",
            queries=(queries.LEARNING_LEFT, queries.LEARNING_NAMES),
            view=table(
                columns.ACCOUNT,
                columns.SHIELD_ZONE,
                columns.PULL_ZONE,
                Column("Left", unit="s", steps=red_then_warn(0, 2 * 86400)),
                sort="Left",
                ascending=True,
            ),
            width=12,
            none="No zone is learning, or none has an end.",
        ),
        Panel(
            title="Zones",
            shows="Shield zones and how they are protected; at most 100.",
            act="Off and not learning: nothing protects the pull zone. Many disabled or log-only rules weaken the WAF:"
            " check whether each is still needed.",
            queries=(
                queries.ZONE_WAF,
                queries.ZONE_LEARNING,
                queries.ZONE_DISABLED_RULES,
                queries.ZONE_LOG_ONLY_RULES,
                queries.ZONE_CUSTOM_RULES,
                queries.ZONE_CUSTOM_USED,
                queries.ZONE_LIMITS_USED,
                queries.ZONE_INFO,
                queries.ZONE_WAF_MODE,
                queries.ZONE_DDOS_MODE,
            ),
            view=table(
                columns.ACCOUNT,
                columns.SHIELD_ZONE,
                columns.PULL_ZONE,
                Column("Plan", label="plan"),
                Column("WAF", words=ON_OR_OFF, width=70),
                Column("WAF mode", label="waf_mode", width=100, words=MODE_WORDS),
                Column("DDoS", label="ddos_mode", width=70, words=MODE_WORDS),
                Column("Learning", words=_LEARNING_WORDS),
                Column("Rules off"),
                Column("Log only"),
                Column("Custom"),
                Column("Rules used", unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1)),
                Column("Limits used", unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1)),
                sort="Zone",
                ascending=True,
            ),
            width=24,
            height=9,
        ),
    ),
)

PAGE = Page(
    uid=links.SHIELD,
    title="Edge platform / Shield",
    about="Breaches of rate limits, the modes of zones, learning modes about to end, and how near rules are to limits.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.SHIELD_ZONES),
    rows=(_NOW, _BREACHES, _ZONES, shield_rules.RULES, shield_rules.GUARDIANS),
    ranked=True,
    marks=(
        *marks.ON_EVERY_PAGE,
        Marks(
            name="Access lists",
            query=queries.LIST_CHANGES,
            title="{{access_list}} changed",
            text="Access list {{access_list}} ({{access_list_id}}) of zone {{shield_zone_id}} has new content.",
            colour="purple",
        ),
    ),
)
