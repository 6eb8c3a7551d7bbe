"""Makes a tile show why its figure is unknown, in place of a green 0 without data.

A tile counts what is wrong, so its figures are 0 or more. Values below 0 are reasons why the figure is unknown.
"""

from dataclasses import dataclass

from dashboards.generator.colours import Colour, Word, warn_then_red
from dashboards.generator.promql import highest
from dashboards.generator.selectors import ACCOUNT, age, gauge, series

# The values of a collector are old if an account had no successful poll for this many of its intervals.
OLD_AFTER = 2


@dataclass(frozen=True, slots=True)
class Blind:
    """A reason why a figure is unknown.

    Attributes:
        value: the result of the tile's query in this case, below 0.
        word: what the tile shows in this case.
        expr: a query that has a result while the reason applies.
    """

    value: int
    word: Word
    expr: str


_SHARD = series("edge_exporter_shard_info")
_SHARD_LATELY = f"last_over_time({_SHARD}[1h])"
# Present if the rules are evaluated: an alert (the watchdog always fires) or, if it was disabled, a recorded series.
RULES = f'(ALERTS{{alertname=~"Edge.+"}} or {series("account:edge_up:answering")})'

# No exporter answers, none of one job does, or one of several shards does not.
SILENT = Blind(
    -1,
    Word("-1", "SILENT", Colour.BAD),
    f"absent({_SHARD}) or group({_SHARD_LATELY} unless on (job) {_SHARD})"
    f" or group({_SHARD_LATELY} unless on (job, shard, shards) {_SHARD} and on (job, shards) {_SHARD})",
)
NO_RULES = Blind(-3, Word("-3", "NO RULES", Colour.HINT), f"absent({RULES})")

_OLD_WORD = Word("-2", "OLD DATA", Colour.INFO)

# In intervals of a target's collector: after three its series end.
STALE = warn_then_red(OLD_AFTER, 3)

WORDS = (SILENT.word, _OLD_WORD, NO_RULES.word)


def old(*collectors: str) -> Blind:
    """Return the reason that an account has no recent or no successful poll of these collectors."""
    of = f'collector=~"{"|".join(collectors)}"'
    one = ("job", "account", "collector")
    since = f"time() - {highest(gauge('edge_target_last_success_timestamp_seconds', ACCOUNT, of), *one)}"
    interval = highest(series("edge_exporter_collector_interval_seconds", of), "job", "collector")
    never = (
        f"{highest(gauge('edge_target_up', ACCOUNT, of), *one)} == 0"
        f" unless on (job, account, collector) {gauge('edge_target_last_success_timestamp_seconds', ACCOUNT, of)}"
    )
    return Blind(
        -2, _OLD_WORD, f"group({since} > on (job, collector) group_left () ({OLD_AFTER} * {interval}) or {never})"
    )


def known(expr: str, *blind: Blind) -> str:
    """Return a query for a count of what is wrong; if it is 0 or unknown, for the first reason that applies.

    Args:
        expr: a query for one figure without labels.
        blind: the reasons why it may be unknown, the most important first.
    """
    return f"({expr}) > 0 or {measured(expr, *blind)}"


def measured(expr: str, *blind: Blind) -> str:
    """Return a query for any other figure; if it is unknown, for the first reason that applies."""
    found = " or ".join(f"({reason.expr})" for reason in blind)
    said = " or ".join(f"{reason.value} * ({reason.expr})" for reason in blind)
    return f"({expr}) unless on () ({found}) or {said}"


def staleness(*matchers: str) -> str:
    """Return a query for the age of each target's values, in intervals of its collector.

    Queries of the configuration are left out, because each may have its own interval.
    """
    others = 'collector!="database_queries"'
    interval = highest(series("edge_exporter_collector_interval_seconds", others), "job", "collector")
    since = age("edge_target_last_success_timestamp_seconds", ACCOUNT, others, *matchers)
    return f"({since} / on (job, collector) group_left () {interval})"
