"""Makes a tile show why its figure is unknown, instead of a green 0.

A tile counts problems, so its figures are 0 or more. If the figure is unknown, the query returns a number below 0 that
stands for the reason.
"""

from dashboards.generator.colours import Colour, Word, warn_then_red
from dashboards.generator.page import Reason
from dashboards.generator.promql import highest
from dashboards.generator.selectors import ACCOUNT, age, gauge, series

# The values of a collector are old if an account had no successful poll for this many intervals of the collector.
OLD_AFTER = 2

_SHARD = series("edge_exporter_shard_info")
_SHARD_LATELY = f"last_over_time({_SHARD}[1h])"
# Has a result if the rules are evaluated: an alert (the watchdog always fires) or, without it, a recorded series.
RULES = f'(ALERTS{{alertname=~"Edge.+"}} or {series("account:edge_up:answering")})'

# Applies also for an hour after all exporters of a job have stopped answering.
SILENT = Reason(
    -1,
    Word("-1", "SILENT", Colour.BAD),
    "no exporter answers or a shard is missing",
    f"absent({_SHARD}) or group({_SHARD_LATELY} unless on (job) {_SHARD})"
    f" or group({_SHARD_LATELY} unless on (job, shard, shards) {_SHARD} and on (job, shards) {_SHARD})",
)
NO_RULES = Reason(
    -3, Word("-3", "NO RULES", Colour.HINT), "Prometheus does not evaluate the shipped rules", f"absent({RULES})"
)

_OLD_WORD = Word("-2", "OLD DATA", Colour.INFO)

# Colours of an age in intervals of a target's collector. By default, a target's series end after three intervals.
STALE = warn_then_red(OLD_AFTER, 3)

WORDS = (SILENT.word, _OLD_WORD, NO_RULES.word)


def old_data(*collectors: str) -> Reason:
    """Return the reason that an account has had no successful poll by one of these collectors for two intervals."""
    matcher = f'collector=~"{"|".join(collectors)}"'
    by = ("job", "account", "collector")
    since = f"time() - {highest(gauge('edge_target_last_success_timestamp_seconds', ACCOUNT, matcher), *by)}"
    interval = highest(series("edge_exporter_collector_interval_seconds", matcher), "job", "collector")
    never = (
        f"{highest(gauge('edge_target_up', ACCOUNT, matcher), *by)} == 0"
        f" unless on (job, account, collector) {gauge('edge_target_last_success_timestamp_seconds', ACCOUNT, matcher)}"
    )
    expr = f"group({since} > on (job, collector) group_left () ({OLD_AFTER} * {interval}) or {never})"
    return Reason(-2, _OLD_WORD, "an account has had no good poll for two intervals", expr)


def count_or_reason(expr: str, *reasons: Reason) -> str:
    """Return a query for a number of problems; if it is 0 or missing, for the first reason that applies, if one does.

    `expr` is a query for one number without labels. `reasons` say why a 0 may be wrong, the most important first.
    """
    applies = " or ".join(f"({reason.expr})" for reason in reasons)
    numbers = " or ".join(f"{reason.value} * ({reason.expr})" for reason in reasons)
    return f"({expr}) > 0 or ({expr}) unless on () ({applies}) or {numbers}"


def staleness() -> str:
    """Return a query for the age of each target's values, in intervals of its collector.

    Database queries are left out, because each may have its own interval.
    """
    others = 'collector!="database_queries"'
    interval = highest(series("edge_exporter_collector_interval_seconds", others), "job", "collector")
    since = age("edge_target_last_success_timestamp_seconds", ACCOUNT, others)
    return f"({since} / on (job, collector) group_left () {interval})"
