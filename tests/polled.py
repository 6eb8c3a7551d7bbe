"""Records polls without a collector: on the status board and in the store, as `exporter.polling.poll` does."""

from collections.abc import Iterable

from exporter.collectors.causes import Cause
from exporter.collectors.collector import Outcome
from exporter.exposition.store import Store
from exporter.metric import Family


def succeed(
    store: Store,
    collector: str,
    outcome: Outcome,
    counters: tuple[Family, ...] = (),
    *,
    lifetime: float,
    duration: float = 0.1,
    chart: Iterable[float] = (),
    note: str = "",
) -> None:
    """Publish a poll that succeeded."""
    families = (*outcome.families, *counters)
    charted = outcome._replace(chart=tuple(chart))
    status = store.board.succeeded(collector, charted, families, duration=duration, note=note)
    store.publish(status, families, lifetime)


def fail(
    store: Store, collector: str, outcome: Outcome, reason: str, message: str, *, lifetime: float, duration: float = 0.1
) -> bool:
    """Record a failed poll; return whether it is the target's first failure."""
    begins = not store.board.is_failing(collector, outcome.target)
    status = store.board.failed(collector, outcome, reason, message, duration=duration, cause=Cause.FAILING)
    if outcome.families:
        store.publish(status, outcome.families, lifetime)
    else:
        store.keep(status, lifetime)
    return begins
