"""Exporter: whether it keeps up with the platform, with its schedule, and with Prometheus."""

from dataclasses import replace

from dashboards.generator import annotations, links, variables
from dashboards.generator.colours import Colour, Word, red_below, red_from, warn_from, warn_then_red
from dashboards.generator.columns import moment
from dashboards.generator.page import Annotation, Column, Page, Query, Stat, Table, TimeSeries
from dashboards.generator.pages.exporter_api import BUDGET, HAPPENED
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import among, count, highest, lowest, top, total
from dashboards.generator.selectors import ACCOUNT, INSTANCE, age, gauge, own_rate, series

_BUILD = series("edge_exporter_build_info", INSTANCE)
_LATELY = f"last_over_time({_BUILD}[1d])"
_DURATION = highest(series("edge_exporter_collector_duration_seconds", INSTANCE), "collector")
_MISSED = total(own_rate("edge_exporter_collector_missed_runs_total", INSTANCE), "collector")
_LAG = "edge_exporter_loop_lag_seconds"
_MEAN_LAG = f"{own_rate(f'{_LAG}_sum', INSTANCE)} / {own_rate(f'{_LAG}_count', INSTANCE)}"
_FILES = f"{series('process_open_fds', INSTANCE)} / {series('process_max_fds', INSTANCE)}"
_DROPPED = top(total(f"{series('edge_exporter_series_dropped', INSTANCE)} > 0", "family"), 20)
_SINCE_SUCCESS = age("edge_target_last_success_timestamp_seconds", ACCOUNT)
_INTERVAL = highest(series("edge_exporter_collector_interval_seconds", INSTANCE), "collector")


def _known(expr: str, label: str, what: str) -> str:
    return f'label_replace({expr}, "what", "{what}", "{label}", "(.*)")'


_FAILING = total(series("edge_exporter_failing_targets", ACCOUNT, INSTANCE), "account", "collector", "reason")
_ABSENT = total(series("edge_exporter_absent_families", INSTANCE), "collector", "cause")
_DIFFERING = total(series("edge_window_mismatched_targets", ACCOUNT, INSTANCE), "account")
_KNOWN = " or ".join(
    (
        _known(_FAILING, "reason", "fails: $1"),
        _known(f"{_DIFFERING} > 0", "", "total differs from its days"),
        _known(_ABSENT, "cause", "metrics absent: $1"),
        _known(count(gauge("edge_target_labels", ACCOUNT), "account"), "", "has labels"),
        _known(count(gauge("edge_alert_threshold", ACCOUNT), "account", "alert"), "alert", "has a threshold: $1"),
    )
)


def _of_exporters(expr: str) -> str:
    # A job may scrape other programs too, and All selects every job: only exporters have build information.
    return among(expr, _BUILD, "job", "instance")


def _last(name: str) -> str:
    return highest(series(name, INSTANCE), "instance")


def _happened(name: str, by: str) -> str:
    return total(own_rate(name, INSTANCE), by) + HAPPENED


_RELOAD_WORDS = (Word("1", "in force", Colour.GOOD), Word("0", "REFUSED", Colour.BAD))

_LEDGER_WORDS = (Word("1", "up", Colour.GOOD), Word("0", "DOWN", Colour.BAD))

_NOW = row(
    "Now",
    (6, 6, 6, 6),
    panel(
        "Instances down",
        "Exporters that Prometheus scraped within the day and cannot scrape now.",
        "Read the process's last log lines: a wrong configuration is named by its path and line; an exit"
        " without a message is most often the memory limit.",
        Stat(of=(), steps=red_from(1)),
        # An exporter that is down has no build information now, but it had within the day.
        Query(total(f"({among(series('up', INSTANCE), _LATELY, 'job', 'instance')}) == bool 0"), "instances"),
    ),
    panel(
        "Configuration",
        "Whether the last reload of every instance succeeded; after a refused one the former configuration"
        " stays in force.",
        "`edge-exporter check --config FILE` names each fault by its path and line.",
        Stat(of=(), steps=red_below(1), words=_RELOAD_WORDS),
        Query(lowest(series("edge_exporter_config_last_reload_successful", INSTANCE)), "reload"),
    ),
    panel(
        "Counters written",
        "Whether counters are written durably on every instance.",
        "A full or read-only disk under state.path is the usual cause. The exporter still serves metrics, and"
        " days in the platform's window are counted when the disk works again.",
        Stat(of=(), steps=red_below(1), words=_LEDGER_WORDS),
        Query(lowest(series("edge_exporter_ledger_up", INSTANCE)), "ledger"),
    ),
    panel(
        "Series",
        "Series that are served, over all instances.",
        "A step up is new targets, or a query of your own with a label of many values.",
        Stat(trend=True),
        Query(total(series("edge_exporter_series", INSTANCE)), "series"),
    ),
)

_SCHEDULE = row(
    "Schedule and staleness",
    (12, 12, 8, 16),
    panel(
        "Staleness by collector",
        "The time since the last success of each collector's oldest target, in intervals of the collector.",
        "At 3 the target's series end. One collector: a failing target, named on the Overview page. All:"
        " the budget is too small, or the account does not answer.",
        TimeSeries(unit="none", decimals=1, steps=warn_then_red(2, 3)),
        Query(f"{highest(_SINCE_SUCCESS, 'collector')} / on (collector) {_INTERVAL}", "{{collector}}"),
    ),
    panel(
        "Collectors",
        "How often each collector polls a target, how long its last poll took, waiting for the budget"
        " included, and the runs a second that were skipped because the one before had not ended.",
        "An interval longer than configured: the budget does not suffice. A poll that takes nearly as long as"
        " its interval, or missed runs that continue: lengthen the interval, or raise the budget.",
        Table(sort="Took"),
        Column("Collector", label="collector"),
        Column("Interval", _INTERVAL, unit="s", width=110),
        Column("Took", _DURATION, unit="s", width=110),
        Column("Missed runs", _MISSED, unit="ops", width=130, steps=warn_from(0.001)),
    ),
    panel(
        "Counts lowered by the platform",
        "Days whose count the platform lowered, by family; the counters do not fall.",
        "A few are normal. Many at once: the platform has lowered its counts, and the counters are above its charts.",
        TimeSeries(unit="ops", none="No count was lowered.", stack=True),
        Query(
            _happened("edge_exporter_ledger_corrections_total", "family"),
            "{{family}}",
            quiet="the platform takes back what it had counted",
        ),
    ),
    panel(
        "Targets that fail, and missing metrics",
        "How many targets fail, by reason; zones whose total is not the sum of the days in the same answer; metrics"
        " that targets have no series of, by cause; targets with labels and thresholds of the configuration.",
        "The status page names the targets; `edge-exporter explain FAMILY` says why a metric is missing."
        " not_polled_yet passes by itself. Fewer labels or thresholds than expected: a pattern matches no name.",
        Table(sort="Number", none="Nothing fails or is missing."),
        Column("Account", label="account", width=110),
        Column("Collector", label="collector", width=190),
        Column("What", label="what"),
        Column("Number", highest(_KNOWN, "account", "collector", "what"), width=100),
    ),
)

_COST = row(
    "Scrapes, and series left out",
    (12, 12),
    panel(
        "Scrapes",
        "How long Prometheus took to scrape each instance, and how long the last build of the answer took;"
        " scrapes do not wait for it.",
        "The exporter sends prepared bytes: if this is long, check the network and the CPU limit.",
        TimeSeries(unit="s", steps=warn_then_red(2, 8)),
        Query(_of_exporters(series("scrape_duration_seconds", INSTANCE)), "{{instance}}: scrape"),
        Query(series("edge_exporter_render_duration_seconds", INSTANCE), "{{instance}}: build"),
    ),
    panel(
        "Dropped by family",
        "Dropped series, by family; the 20 largest.",
        "Raise series.max_label_values if Prometheus has the memory, or leave out the family with series.deny.",
        Table(sort="Series", none="No series is dropped."),
        Column("Family", label="family"),
        Column(
            "Series",
            Query(_DROPPED, "{{family}}", quiet="a metric has more label values than series.max_label_values"),
            width=90,
        ),
    ),
    folded=True,
)

_SHARDS = row(
    "Shards",
    (12, 12),
    panel(
        "Shards",
        "Every instance: its shard of how many, its version, when it started and took its configuration, and"
        " when it last found its saved counters damaged.",
        "Two totals at once: the number of shards is being changed; this should end with the roll-out. After a"
        " damage counters started at 0; the renamed file is next to state.path: copy it, and check the disk.",
        Table(sort="Shard", ascending=True),
        Column("Instance", label="instance"),
        Column("Shard", label="shard", width=75),
        Column("Of", label="shards", width=70),
        Column("Version", label="version", width=90),
        moment("Started", highest(_of_exporters(series("process_start_time_seconds", INSTANCE)), "instance")),
        moment("Configured", _last("edge_exporter_config_last_reload_success_timestamp_seconds")),
        replace(
            moment("Damaged", _last("edge_exporter_ledger_set_aside_timestamp_seconds")),
            steps=red_from(1),
            words=(Word("0", "never", Colour.GOOD),),
        ),
        Query(highest(series("edge_exporter_shard_info", INSTANCE), "instance", "shard", "shards")),
        Query(highest(_BUILD, "instance", "version")),
    ),
    panel(
        "Shards present",
        "How many different shards answer, by the number that there should be, and how many are held.",
        "Fewer than its name says: the targets of the missing shard are not polled. Start one exporter more.",
        Stat(height=8),
        Query(count(count(series("edge_exporter_shard_info"), "shards", "shard"), "shards"), "of {{shards}}"),
        Query(count(f"{highest(series('edge_exporter_shard_held'), 'shard')} == 1"), "held"),
    ),
    folded=True,
)

_PROCESS = row(
    "Process",
    (6, 6, 6, 6, 12, 12),
    panel(
        "Memory",
        "Resident memory of each instance.",
        "It depends on the number of series. Growth without new series is a leak: report it with the version.",
        TimeSeries(unit="bytes"),
        Query(_of_exporters(series("process_resident_memory_bytes", INSTANCE)), "{{instance}}"),
    ),
    panel(
        "CPU",
        "CPU seconds a second of each instance.",
        "Near 1 the event loop is full: shard the exporter, or lengthen intervals.",
        TimeSeries(unit="s", steps=warn_then_red(0.7, 0.9), axis="per second"),
        Query(_of_exporters(own_rate("process_cpu_seconds_total", INSTANCE)), "{{instance}}"),
    ),
    panel(
        "Open files",
        "Open files and sockets of each instance, as a share of its limit.",
        "Near 100 % new connections fail: raise LimitNOFILE, or lower max_in_flight.",
        TimeSeries(unit="percentunit", steps=warn_then_red(0.7, 0.9)),
        Query(_of_exporters(_FILES), "{{instance}}"),
    ),
    panel(
        "Loop lag",
        "The delay of the event loop of each instance, on average.",
        "If it stays above 0.1 s, answers and polls wait. Use shards, or give the exporter more CPU.",
        TimeSeries(unit="s", steps=warn_then_red(0.1, 0.5)),
        Query(_MEAN_LAG, "{{instance}}"),
    ),
    panel(
        "Clock",
        "The platform's time less that of the exporter's machine, in the last answer of each account.",
        "Beyond a minute a clock is wrong: synchronise this machine's, unless others agree with it.",
        TimeSeries(unit="s", least=None),
        Query(series("edge_exporter_clock_offset_seconds", ACCOUNT, INSTANCE), "{{instance}}: {{account}}"),
    ),
    panel(
        "Failed rounds",
        "Rounds of the exporter's own work that failed: its log names the first of each.",
        "Report the error of the log; the next round has tried again.",
        TimeSeries(unit="ops", none="No round failed."),
        Query(
            _happened("edge_exporter_task_failures_total", "task"), "{{task}}", quiet="the exporter's own work fails"
        ),
    ),
    folded=True,
)

PAGE = Page(
    uid=links.EXPORTER,
    title="Edge platform / Exporter",
    about="The exporter itself: API budget, failures, latency, staleness, what a scrape costs, and shards.",
    variables=(variables.JOB, variables.INSTANCE, variables.ACCOUNTS),
    rows=(_NOW, BUDGET, _SCHEDULE, _COST, _PROCESS, _SHARDS),
    since="now-6h",
    ranked=True,
    annotations=(
        *annotations.ON_EVERY_PAGE,
        Annotation(
            name="Starts",
            query=Query(
                _of_exporters(f"(time() - {series('process_start_time_seconds', INSTANCE)}) < 60"),
                quiet="the exporter is started",
            ),
            title="{{instance}} started",
            text="The exporter {{instance}} was started.",
            colour="blue",
        ),
    ),
)
