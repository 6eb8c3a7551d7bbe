"""Records polls without a collector in the store, as `exporter.polling.poll` does."""

from collections.abc import Iterable

from exporter.collectors.collector import Outcome
from exporter.exposition.store import Store
from exporter.metric import Family
from exporter.targets.target import PollKey, Target


def was_up(store: Store, collector: str, target: Target) -> bool | None:
    """Return whether the last poll succeeded; None before the first."""
    status = store.find(PollKey(target.key, collector))
    return None if status is None or not status.polled else status.up


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
    charted = outcome._replace(chart=tuple(chart))
    store.publish(collector, charted, counters, lifetime, duration=duration, note=note)


def fail(
    store: Store, collector: str, outcome: Outcome, reason: str, message: str, *, lifetime: float, duration: float = 0.1
) -> None:
    """Record a failed poll."""
    store.fail(collector, outcome, lifetime, reason, message, duration=duration)
