"""Shield: breaches, the protection of zones, API guardians, bots and access lists."""

from dashboards.generator import columns, links, variables
from dashboards.generator.page import (
    ACTION_PAINT,
    NEUTRAL,
    ON_OR_OFF,
    PLAIN,
    Bars,
    Colour,
    Column,
    Lines,
    Marks,
    Numbers,
    Page,
    Panel,
    Row,
    Table,
    Word,
    red_from,
    red_then_warn,
    warn_from,
    warn_then_red,
)
from dashboards.generator.pages import shield_rules
from dashboards.generator.queries import shield as queries

_LEARNING_WORDS = (Word("1", "learning", Colour.WARN), Word("0", "no", Colour.QUIET))
_PULL_ZONE = Column("Pull zone", label="pull_zone")

_NOW = Row(
    "Now",
    (
        Panel(
            title="Breaches a minute",
            shows="Breaches of rate limits a minute, over the last four polls.",
            act="The graph beside shows what was done about them, the one below it which limits they are of.",
            queries=(queries.BREACHES,),
            view=Numbers(trend=True),
            unit="cpm",
            width=4,
            height=4,
            steps=NEUTRAL,
        ),
        Panel(
            title="Blocked today",
            shows="Requests that rate limits blocked since the UTC day began.",
            act="Read it against the usual day in the table of rate limits.",
            queries=(queries.BLOCKED_TODAY,),
            view=Numbers(),
            width=4,
            height=4,
            steps=NEUTRAL,
        ),
        Panel(
            title="Over their usual day",
            shows="Rate limits with more breaches today than on the mean day of the last 28.",
            act="The table of rate limits names them: decide between an attack (leave it blocked) and a limit that is"
            " too low for its traffic (raise it).",
            queries=(queries.LIMITS_OVER,),
            view=Numbers(),
            width=4,
            height=4,
            steps=red_from(1),
        ),
        Panel(
            title="WAF switched off",
            shows="Shield zones whose web application firewall is off.",
            act="The table of zones names them. If nobody meant it, switch it on again at the platform.",
            queries=(queries.WAF_OFF,),
            view=Numbers(),
            width=3,
            height=4,
            steps=red_from(1),
        ),
        Panel(
            title="In learning mode",
            shows="Shield zones that learn: they log what they would block.",
            act="Fine for the days of a roll-out; the table of learning zones shows when each ends.",
            queries=(queries.LEARNING,),
            view=Numbers(),
            width=3,
            height=4,
            steps=warn_from(1),
        ),
        Panel(
            title="Fullest guardian",
            shows="Endpoints of the fullest guardian as a share of what its plan allows.",
            act="At 100 % new endpoints go unguarded: remove old ones, or take a larger plan.",
            queries=(queries.GUARDIAN_FULLEST,),
            view=Numbers(),
            unit="percentunit",
            decimals=0,
            width=3,
            height=4,
            steps=warn_then_red(0.8, 1),
        ),
        Panel(
            title="Shield zones",
            shows="Shield zones that the accounts hold, by the platform's own count.",
            act="More than the table of zones shows: the others are not read, or filtered by the configuration.",
            queries=(queries.ZONES,),
            view=Numbers(),
            width=3,
            height=4,
            steps=NEUTRAL,
        ),
    ),
)

_BREACHES = Row(
    "Rate limits",
    (
        Panel(
            title="Breaches by action",
            shows="Breaches a minute by what was done: logged, challenged or blocked.",
            act="Blocked and short is an attack held off. Logged and long is a limit that only watches: consider"
            " challenging.",
            queries=(queries.BREACHES_BY_ACTION,),
            view=Lines(stack=True, painted=ACTION_PAINT),
            unit="cpm",
            width=12,
            least=0,
        ),
        Panel(
            title="Breaches by rate limit",
            shows="Breaches a minute of the rate limits with the most in 28 days.",
            act="One limit alone: its path is under pressure. All at once: the whole zone is.",
            queries=(queries.BREACHES_OF_TOP_LIMITS,),
            view=Lines(),
            unit="cpm",
            width=12,
            least=0,
        ),
        Panel(
            title="Rate limits near or over their usual day",
            shows="Rate limits by today's breaches as a share of their mean day of the last 28; the 50 highest. The"
            " platform's day is UTC's.",
            act="Over 100 % and growing in the last hour: it happens now. Look at the zone's logs for who breaches;"
            " block them, or raise the limit if they are yours.",
            queries=(
                queries.LIMIT_AGAINST_USUAL,
                queries.LIMIT_TODAY,
                queries.LIMIT_USUAL_DAY,
                queries.LIMIT_LAST_HOUR,
                queries.LIMIT_BLOCKED,
            ),
            view=Table(
                columns=(
                    columns.ACCOUNT,
                    columns.SHIELD_ZONE,
                    Column("Rate limit", label="rate_limit"),
                    Column("Id", label="rate_limit_id", width=80),
                    Column("Of usual", unit="percentunit", decimals=0, steps=warn_then_red(0.8, 1)),
                    Column("Today"),
                    Column("Usual day", decimals=0),
                    Column("Last hour", decimals=0),
                    Column("Blocked today"),
                ),
                sort="Of usual",
            ),
            width=16,
            none="No rate limit was breached in 28 days.",
        ),
        Panel(
            title="Breaches today",
            shows="Breaches since the UTC day began, by action.",
            act="Compare the shares of the actions with the 28 days beside.",
            queries=(queries.BREACHES_TODAY,),
            view=Bars(painted=ACTION_PAINT),
            width=4,
            steps=PLAIN,
        ),
        Panel(
            title="Breaches, 28 days",
            shows="Breaches of the platform's sliding window, by action.",
            act="Compare with today beside.",
            queries=(queries.BREACHES_OF_WINDOW,),
            view=Bars(painted=ACTION_PAINT),
            width=4,
            steps=PLAIN,
        ),
    ),
)

_ZONES = Row(
    "Protection of zones",
    (
        Panel(
            title="Zones by mode",
            shows="Shield zones by what the WAF and the DDoS engine do: log, or block.",
            act="A zone in log mode is watched, not protected. After a roll-out all should block.",
            queries=(queries.MODES,),
            view=Bars(),
            width=6,
            steps=PLAIN,
        ),
        Panel(
            title="Zones by DDoS sensitivity",
            shows="Shield zones by the sensitivity of their DDoS engine.",
            act="Zones that are off are open to floods: set at least low.",
            queries=(queries.SENSITIVITIES,),
            view=Bars(),
            width=6,
            steps=PLAIN,
        ),
        Panel(
            title="Learning mode ending",
            shows="Zones in learning mode, by the time that is left; below zero it should have ended. At most 50.",
            act="Before it ends, read what the zone logged and make exceptions for what is yours: from then on it"
            " blocks. Below zero, learning was left on: end it at the platform.",
            queries=(queries.LEARNING_LEFT, queries.LEARNING_NAMES),
            view=Table(
                columns=(
                    columns.ACCOUNT,
                    columns.SHIELD_ZONE,
                    _PULL_ZONE,
                    Column("Left", unit="s", steps=red_then_warn(0, 2 * 86400)),
                ),
                sort="Left",
                ascending=True,
            ),
            width=12,
            none="No zone is learning, or none has an end.",
        ),
        Panel(
            title="Zones",
            shows="Shield zones and how they are protected; at most 100.",
            act="Off and not learning: nothing protects the pull zone. Many disabled or log-only rules hollow the WAF"
            " out: look whether each is still needed.",
            queries=(
                queries.ZONE_WAF,
                queries.ZONE_LEARNING,
                queries.ZONE_DISABLED_RULES,
                queries.ZONE_LOG_ONLY_RULES,
                queries.ZONE_CUSTOM_RULES,
                queries.ZONE_INFO,
                queries.ZONE_WAF_MODE,
                queries.ZONE_DDOS_MODE,
            ),
            view=Table(
                columns=(
                    columns.ACCOUNT,
                    columns.SHIELD_ZONE,
                    _PULL_ZONE,
                    Column("Plan", label="plan"),
                    Column("WAF", words=ON_OR_OFF, width=70),
                    Column("WAF mode", label="waf_mode", width=95),
                    Column("DDoS", label="ddos_mode", width=70),
                    Column("Learning", words=_LEARNING_WORDS),
                    Column("Rules off"),
                    Column("Log only"),
                    Column("Custom"),
                ),
                sort="Zone",
                ascending=True,
            ),
            width=16,
            height=9,
        ),
        Panel(
            title="Features in use",
            shows="The share of shield zones with each feature on.",
            act="Threat intelligence below 100 % is most often an oversight; body logging above 0 % may hold personal"
            " data.",
            queries=(queries.FEATURES,),
            view=Bars(),
            most=1,
            unit="percentunit",
            decimals=0,
            width=8,
            height=9,
            steps=PLAIN,
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
        Marks(
            name="Access lists",
            query=queries.LIST_CHANGES,
            title="{{access_list}} changed",
            text="Access list {{access_list}} ({{access_list_id}}) of zone {{shield_zone_id}} has new content.",
            colour="purple",
        ),
    ),
)
