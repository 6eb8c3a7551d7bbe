"""Exporter: whether it keeps up with the platform, with its schedule, and with Prometheus."""

from dashboards.generator import links, marks, variables
from dashboards.generator.page import (
    Colour,
    Column,
    Lines,
    Marks,
    Page,
    Panel,
    Row,
    Word,
    red_below,
    red_from,
    table,
    warn_from,
    warn_then_red,
)
from dashboards.generator.pages import exporter_api
from dashboards.generator.queries import exporter as queries
from dashboards.generator.tables import figure

_RELOAD_WORDS = (Word("1", "in force", Colour.GOOD), Word("0", "REFUSED", Colour.BAD))
_NEVER = (Word("0", "never", Colour.GOOD),)
_LEDGER_WORDS = (Word("1", "up", Colour.GOOD), Word("0", "DOWN", Colour.BAD))

_NOW = Row(
    "Now",
    (
        figure(
            "Instances down",
            "Exporters that Prometheus scraped within the day and cannot scrape now.",
            "Read the process's last log lines: a wrong configuration is named by its path and line; an exit"
            " without a message is most often the memory limit.",
            queries.INSTANCES_DOWN,
            of=(),
            steps=red_from(1),
            width=6,
        ),
        figure(
            "Configuration",
            "Whether the last reload of every instance succeeded; after a refused one the former configuration"
            " stays in force.",
            "`edge-exporter check --config FILE` names each fault by its path and line.",
            queries.RELOAD_OK,
            of=(),
            steps=red_below(1),
            words=_RELOAD_WORDS,
            width=6,
        ),
        figure(
            "Counters written",
            "Whether counters are written durably on every instance.",
            "A full or read-only disk under state.path is the usual cause. The exporter still serves metrics, and"
            " days in the platform's window are counted when the disk works again.",
            queries.LEDGER_UP,
            of=(),
            steps=red_below(1),
            words=_LEDGER_WORDS,
            width=6,
        ),
        figure(
            "Series",
            "Series that are served, over all instances.",
            "A step up is new targets, or a query of your own with a label of many values.",
            queries.SERIES_TOTAL,
            trend=True,
            width=6,
        ),
    ),
)

_SCHEDULE = Row(
    "Schedule and staleness",
    (
        Panel(
            title="Staleness by collector",
            shows="The time since the last success of each collector's oldest target, in intervals of the collector.",
            act="At 3 the target's series end. One collector: a failing target, named on the Overview page. All:"
            " the budget is too small, or the account does not answer.",
            queries=(queries.STALENESS,),
            unit="none",
            decimals=1,
            steps=warn_then_red(2, 3),
            width=12,
        ),
        Panel(
            title="Collectors",
            shows="How often each collector polls a target, how long its last poll took, waiting for the budget"
            " included, and the runs a second that were skipped because the one before had not ended.",
            act="An interval longer than configured: the budget does not suffice. A poll that takes nearly as long as"
            " its interval, or missed runs that continue: lengthen the interval, or raise the budget.",
            queries=(queries.INTERVALS, queries.DURATIONS, queries.MISSED_RUNS),
            view=table(
                Column("Collector", label="collector"),
                Column("Interval", unit="s", width=110),
                Column("Took", unit="s", width=110),
                Column("Missed runs", unit="ops", width=130, steps=warn_from(0.001)),
                sort="Took",
            ),
            width=12,
        ),
        Panel(
            title="Counts lowered by the platform",
            shows="Days whose count the platform lowered, by family; the counters do not fall.",
            act="A few are normal. Many at once: the platform has lowered its counts, and the counters are above"
            " its charts.",
            queries=(queries.CORRECTIONS,),
            view=Lines(stack=True),
            unit="ops",
            width=12,
            none="No count was lowered.",
        ),
        Panel(
            title="Missing metrics",
            shows="Metrics that targets could have and have no series of, by collector and cause.",
            act="A panel is empty? `edge-exporter explain FAMILY` says why, for each target. not_polled_yet passes"
            " by itself.",
            queries=(queries.MISSING,),
            view=table(
                Column("Collector", label="collector"),
                Column("Cause", label="cause"),
                Column("Metrics", width=110),
                sort="Metrics",
            ),
            width=12,
            none="No metric is missing.",
        ),
    ),
)

_COST = Row(
    "Scrapes, and series left out",
    (
        Panel(
            title="Scrapes",
            shows="How long Prometheus took to scrape each instance, and how long the last build of the answer took;"
            " scrapes do not wait for it.",
            act="The exporter sends prepared bytes: if this is long, check the network and the CPU limit.",
            queries=(queries.SCRAPE_DURATION, queries.RENDER_DURATION),
            unit="s",
            steps=warn_then_red(2, 8),
            width=12,
        ),
        Panel(
            title="Dropped by family",
            shows="Dropped series, by family; the 20 largest.",
            act="Raise series.max_label_values if Prometheus has the memory, or leave out the family with series.deny.",
            queries=(queries.DROPPED_BY_FAMILY,),
            view=table(
                Column("Family", label="family"),
                Column("Series", width=90),
                sort="Series",
            ),
            none="No series is dropped.",
            width=12,
        ),
    ),
    folded=True,
)

_SHARDS = Row(
    "Shards",
    (
        Panel(
            title="Shards",
            shows="Every instance: its shard of how many, its version, when it started and took its configuration, and"
            " when it last found its saved counters damaged.",
            act="Two totals at once: the number of shards is being changed; this should end with the roll-out. After a"
            " damage counters started at 0; the renamed file is next to state.path: copy it, and check the disk.",
            queries=(queries.STARTED, queries.RELOADED, queries.SET_ASIDE, queries.SHARDS, queries.SHARD_VERSION),
            view=table(
                Column("Instance", label="instance"),
                Column("Shard", label="shard", width=75),
                Column("Of", label="shards", width=70),
                Column("Version", label="version", width=90),
                Column("Started", unit="dateTimeFromNow"),
                Column("Configured", unit="dateTimeFromNow"),
                Column("Damaged", unit="dateTimeFromNow", steps=red_from(1), words=_NEVER),
                sort="Shard",
                ascending=True,
            ),
            width=12,
        ),
        figure(
            "Shards present",
            "How many different shards answer, by the number that there should be, and how many are held.",
            "Fewer than its name says: the targets of the missing shard are not polled. Start one exporter more.",
            queries.SHARDS_PRESENT,
            queries.SHARDS_HELD,
            height=8,
            width=12,
        ),
    ),
    folded=True,
)

_PROCESS = Row(
    "Process",
    (
        Panel(
            title="Memory",
            shows="Resident memory of each instance.",
            act="It depends on the number of series. Growth without new series is a leak: report it with the version.",
            queries=(queries.MEMORY,),
            unit="bytes",
            width=6,
        ),
        Panel(
            title="CPU",
            shows="CPU seconds a second of each instance.",
            act="Near 1 the event loop is full: shard the exporter, or lengthen intervals.",
            queries=(queries.CPU,),
            view=Lines(axis="per second"),
            unit="s",
            width=6,
            steps=warn_then_red(0.7, 0.9),
        ),
        Panel(
            title="Open files",
            shows="Open files and sockets of each instance, as a share of its limit.",
            act="Near 100 % new connections fail: raise LimitNOFILE, or lower max_in_flight.",
            queries=(queries.FILES,),
            unit="percentunit",
            width=6,
            steps=warn_then_red(0.7, 0.9),
        ),
        Panel(
            title="Loop lag",
            shows="The delay of the event loop of each instance, on average.",
            act="If it stays above 0.1 s, answers and polls wait. Use shards, or give the exporter more CPU.",
            queries=(queries.LOOP_LAG,),
            unit="s",
            width=6,
            steps=warn_then_red(0.1, 0.5),
        ),
        Panel(
            title="Clock",
            shows="The platform's time less that of the exporter's machine, in the last answer of each account.",
            act="Beyond a minute a clock is wrong: synchronise this machine's, unless others agree with it.",
            queries=(queries.CLOCK_OFFSET,),
            unit="s",
            width=12,
        ),
        Panel(
            title="Failed rounds",
            shows="Rounds of the exporter's own work that failed: its log names the first of each.",
            act="Report the error of the log; the next round has tried again.",
            queries=(queries.TASK_FAILURES,),
            unit="ops",
            width=12,
        ),
    ),
    folded=True,
)

PAGE = Page(
    uid=links.EXPORTER,
    title="Edge platform / Exporter",
    about="The exporter itself: API budget, failures, latency, staleness, what a scrape costs, and shards.",
    variables=(variables.JOB, variables.INSTANCE, variables.ACCOUNTS),
    rows=(_NOW, exporter_api.BUDGET, _SCHEDULE, _COST, _PROCESS, _SHARDS),
    since="now-6h",
    ranked=True,
    marks=(
        *marks.ON_EVERY_PAGE,
        Marks(
            name="Starts",
            query=queries.RESTARTS,
            title="{{instance}} started",
            text="The exporter {{instance}} was started.",
            colour="blue",
        ),
    ),
)
