"""Records the result of a poll in the ledger, the store and the status board."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime

from exporter.causes import Cause, Lack, cause_of
from exporter.clock import Clocks
from exporter.collectors.collector import Collector, Outcome, Polled
from exporter.collectors.poll import Poller
from exporter.cooperative import unhurried
from exporter.counters.ledger import Entry, Ledger
from exporter.exposition.status_board import GONE, Status
from exporter.exposition.store import Store
from exporter.log import logger
from exporter.metric import Family
from exporter.platform.errors import NotAvailable, NotFound, PlatformError
from exporter.platform.http.recognition import Recognition
from exporter.polling.failure_log import FailureLog
from exporter.targets.registry import Registry
from exporter.targets.target import PollKey, Target


class ResultRecorder:
    """Records outcomes in the ledger, the store and the status board, and logs failures.

    Args:
        registry: the targets; a removed one is not published.
        store: receives the families; its board receives the status.
        ledger: counts the counters before they are published.
        poller: decides which outcomes of a poll are used.
        clocks: the clocks.
        call_soon: passes a call to the event loop, from any thread.

    Attributes:
        running: the collectors in use, by name.
    """

    def __init__(
        self,
        registry: Registry,
        store: Store,
        ledger: Ledger,
        *,
        poller: Poller,
        clocks: Clocks,
        call_soon: Callable[..., object],
    ) -> None:
        self._registry = registry
        self._store = store
        self._ledger = ledger
        self._poller = poller
        self._clocks = clocks
        self._call_soon = call_soon
        self._log = logger()
        self.failure_log = FailureLog(clocks.monotonic)
        self.running: Mapping[str, Collector] = {}
        self._unavailable: set[PollKey] = set()
        self._gone: set[Target] = set()
        # Polls that the ledger has received and not yet passed on for publishing.
        self._handed: set[PollKey] = set()

    async def record(
        self,
        collector: Collector,
        target: Target,
        polled: Polled,
        lifetime: Callable[[Target], float],
        seconds: float,
    ) -> AsyncIterator[Outcome]:
        """Record the result of a poll, and yield each outcome that is used.

        Args:
            collector: the collector that polled.
            target: the polled target.
            polled: the result.
            lifetime: returns the seconds for which the values of a target are valid.
            seconds: the duration of the poll.
        """
        if target.scouted or collector.discovers:
            error = polled.unnamed or (polled.error if target.scouted else None)
            self.failure_log.lists(collector.name, target.account, (error.reason, str(error)) if error else None)
        now = polled.date or self._clocks.utc()
        async for outcome in unhurried(polled.outcomes, self._clocks.monotonic):
            if not self._poller.accepts(target, outcome):
                continue
            believed = lifetime(outcome.target)
            if outcome.error is None:
                self._succeeded(collector, outcome, now, lifetime=believed, duration=seconds)
            else:
                self._failed(collector, outcome, outcome.error, lifetime=believed, duration=seconds)
            yield outcome

    def _succeeded(
        self, collector: Collector, outcome: Outcome, now: datetime, *, lifetime: float, duration: float
    ) -> None:
        """Count an outcome, and publish it when what was counted is on disk.

        Args:
            collector: the collector that polled.
            outcome: the result for one target.
            now: the platform's time.
            lifetime: seconds for which its values are valid.
            duration: the duration of the poll in seconds.
        """
        name, target = collector.name, outcome.target
        if outcome.is_unchanged:
            self._unchanged(collector, outcome, now, lifetime=lifetime, duration=duration)
            return
        key = target.polled_by(name)
        status = self._store.board.find(key)
        if status is not None:
            # Until this outcome is published, the served values belong to an older answer, so no answer must be
            # recognised.
            status.fingerprint = b""
        if collector.owns_target:
            self._gone.discard(target)
        elif target in self._gone:
            # Another collector's call has shown that this resource no longer exists: nothing is published.
            outcome = Outcome(target, lack=GONE.lack)

        def publish(counters: tuple[Family, ...], fingerprint: bytes) -> None:
            self._handed.discard(key)
            if not self._is_current(collector, target):
                return
            # While the ledger wrote, the platform may have reported that the target no longer exists.
            shown = Outcome(target, lack=GONE.lack) if target in self._gone and not collector.owns_target else outcome
            if self._store.board.was_up(name, target) is False:
                self.failure_log.recovers(_facts(name, target))
            self._unavailable.discard(key)
            status = self._publish(name, shown, (*shown.families, *counters), lifetime=lifetime, duration=duration)
            status.fingerprint = fingerprint if shown is outcome else b""

        def hand_back(counters: tuple[Family, ...]) -> None:
            # After a failed commit, the older counters are published; a later poll publishes the new ones.
            self._call_soon(publish, counters, b"" if self._ledger.is_behind() else outcome.fingerprint)

        # Publish only what is on disk: the ledger's thread calls `hand_back` after the commit.
        self._handed.add(key)
        self._ledger.record(Entry(key, target.name, self._clocks.wall(), outcome.counts, now), hand_back)

    def _publish(
        self,
        collector: str,
        outcome: Outcome,
        families: tuple[Family, ...],
        *,
        lifetime: float,
        duration: float,
        note: str = "",
    ) -> Status:
        status = self._store.board.succeeded(collector, outcome, families, duration=duration, note=note)
        self._store.publish(status, families, lifetime)
        return status

    def _unchanged(
        self, collector: Collector, outcome: Outcome, now: datetime, *, lifetime: float, duration: float
    ) -> None:
        """Record a poll with the same answer as the last one: only its time changes, on disk and in the exposition."""
        key = outcome.target.polled_by(collector.name)

        def publish() -> None:
            status = self._store.board.find(key)
            # The series may have been removed while the ledger wrote; the next answer restores them.
            if status is not None and status.fingerprint == outcome.fingerprint:
                self._store.board.unchanged(status, duration=duration)
                self._store.renew(status, lifetime)

        def hand_back(_counters: tuple[Family, ...]) -> None:
            self._call_soon(publish)

        status = self._store.board.find(key)
        name = outcome.target.name if status is None else status.target.name
        self._ledger.record(Entry(key, name, self._clocks.wall(), None, now), hand_back)

    def recognition(self, collector: Collector, target: Target) -> Recognition | None:
        """Return what recognises the target's last answer; None for a collector whose answers are not compared.

        While a cap excludes any series, no answer is recognised, because excluded series return only with a full poll.
        """
        if collector.discovers:
            return None
        status = self._store.board.find(target.polled_by(collector.name))
        last = status.fingerprint if status is not None and self._store.is_exposed_whole else b""
        asked = f"{target.name}\0{dict(target.attributes)}{target.watched}"
        return Recognition(last, asked, self._clocks)

    def forget_answers(self) -> None:
        """Process the next answer of each target even if it is unchanged, because other families may be exposed now."""
        self._store.board.forget_answers()

    def waits_for_ledger(self, key: PollKey) -> bool:
        """Return whether a successful poll of a target is not yet published by the ledger."""
        return key in self._handed

    def forget_removed(self) -> None:
        """Forget removed targets, so that one that returns is treated as new."""
        self._gone = {target for target in self._gone if self._registry.holds(target.key)}
        self._unavailable = {noted for noted in self._unavailable if self._registry.holds(noted.target)}

    def _is_current(self, collector: Collector, target: Target) -> bool:
        """Return whether a target is still polled: it or its collector may have been removed while the ledger wrote."""
        return collector.name in self.running and (
            self._registry.holds(target.key) or (target.kind != collector.polls and self._registry.admits(target))
        )

    def _failed(
        self,
        collector: Collector,
        outcome: Outcome,
        error: PlatformError,
        *,
        lifetime: float,
        duration: float,
    ) -> None:
        """Record a failure; families of earlier polls stay until they expire.

        Args:
            collector: the collector that polled.
            outcome: the target, with the families that are exposed in spite of the failure.
            error: the error.
            lifetime: seconds for which the target's series are valid.
            duration: the duration of the poll in seconds.
        """
        name, target = collector.name, outcome.target
        facts = _facts(name, target)
        if isinstance(error, NotAvailable):
            # The zone does not have this resource: not a failure, but an answer without samples, which is logged once.
            key = target.polled_by(name)
            if key not in self._unavailable:
                self._unavailable.add(key)
                self._log.info("not available", **facts, error_key=error.error_key)
            nothing = Outcome(target, lack=Lack(Cause.NOT_AVAILABLE, _words(error)))
            self._publish(name, nothing, (), lifetime=lifetime, duration=duration, note="not available")
            return
        if not self._store.board.is_failing(name, target):
            self.failure_log.fails(facts, error.reason, str(error))
        status = self._store.board.failed(
            name, outcome, error.reason, str(error), duration=duration, cause=cause_of(error)
        )
        if outcome.families:
            self._store.publish(status, outcome.families, lifetime)
        else:
            self._store.keep(status, lifetime)
        if isinstance(error, NotFound):
            self._store.clear(name, target)
            if collector.owns_target:
                self._gone.add(target)
                for other in self.running.values():
                    if other.polls == target.kind:
                        self._store.clear(other.name, target)


def _words(error: PlatformError) -> str:
    """Return the platform's message, with its error key unless the message contains it."""
    words = str(error)
    return words if not error.error_key or error.error_key in words else f"{words} ({error.error_key})"


def _facts(collector: str, target: Target) -> dict[str, str]:
    return {"collector": collector, "account": target.account, "target": target.key.label, "name": target.name}
