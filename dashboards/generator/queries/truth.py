"""What a tile shows where it cannot know its figure: no green 0 while nothing is measured.

A tile counts what is wrong, so its figures are 0 or more. Below 0 stand the reasons for which a 0 would be a lie.
"""

from dataclasses import dataclass

from dashboards.generator.page import Colour, Word, warn_then_red
from dashboards.generator.promql import ACCOUNT, age, gauge, highest, series

# A collector's values are old when an account has had no good poll of it for this many of its intervals.
OLD_AFTER = 2


@dataclass(frozen=True, slots=True)
class Blind:
    """A reason why a figure is not known.

    Attributes:
        value: what the tile's query answers then, below 0.
        word: what the tile shows then.
        expr: a query that finds something while the reason holds.
    """

    value: int
    word: Word
    expr: str


_SHARD = series("edge_exporter_shard_info")
_SHARD_LATELY = f"last_over_time({_SHARD}[1h])"
# What is there wherever the rules are evaluated: the watchdog or, where an organisation has put it away, a recording.
# There wherever the rules are evaluated: an alert (the watchdog always fires) or, where it was put away, a recording.
RULES = f'(ALERTS{{alertname=~"Edge.+"}} or {series("account:edge_up:answering")})'

# No exporter answers at all, those of one job are gone, or a shard of several is.
SILENT = Blind(
    -1,
    Word("-1", "SILENT", Colour.BAD),
    f"absent({_SHARD}) or group({_SHARD_LATELY} unless on (job) {_SHARD})"
    f" or group({_SHARD_LATELY} unless on (job, shard, shards) {_SHARD} and on (job, shards) {_SHARD})",
)
NO_RULES = Blind(-3, Word("-3", "NO RULES", Colour.HINT), f"absent({RULES})")

_OLD_WORD = Word("-2", "OLD DATA", Colour.INFO)

# In intervals of a target's collector: at three of them its series go.
STALE = warn_then_red(OLD_AFTER, 3)

WORDS = (SILENT.word, _OLD_WORD, NO_RULES.word)


def old(*collectors: str) -> Blind:
    """Nothing new came from these collectors for an account, or never anything."""
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
    """Count what is wrong; where that is 0, or not known, answer with the first reason why it cannot be known.

    Args:
        expr: a query of one figure without labels.
        blind: the reasons to look for, the most important first.
    """
    return f"({expr}) > 0 or {measured(expr, *blind)}"


def measured(expr: str, *blind: Blind) -> str:
    """Answer with a figure that is no count of what is wrong; with the first reason where it cannot be known."""
    found = " or ".join(f"({reason.expr})" for reason in blind)
    said = " or ".join(f"{reason.value} * ({reason.expr})" for reason in blind)
    return f"({expr}) unless on () ({found}) or {said}"


def staleness(*matchers: str) -> str:
    """Say how old each target's values are, in intervals of its collector.

    A query of the configuration may have an interval of its own, other than the collector's.
    """
    others = 'collector!="database_queries"'
    interval = highest(series("edge_exporter_collector_interval_seconds", others), "job", "collector")
    since = age("edge_target_last_success_timestamp_seconds", ACCOUNT, others, *matchers)
    return f"({since} / on (job, collector) group_left () {interval})"
