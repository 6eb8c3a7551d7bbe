"""Polls a target once, for the daemon, `check` and `backfill`."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

from exporter.clock import Clocks
from exporter.collectors.collector import Collector, Context, Outcome, Polled
from exporter.metric import MonthToDate
from exporter.platform.errors import PlatformError
from exporter.platform.http.recognition import Recognition, UnchangedError
from exporter.platform.operation import Caller
from exporter.targets.registry import Registry
from exporter.targets.target import Inventory, Target


def failed(target: Target, error: PlatformError) -> Polled:
    """Return the result of a poll that failed."""
    return Polled((Outcome(target, error=error),))


def _recognisable(polled: Polled, fingerprint: bytes) -> Polled:
    """Add the answer's fingerprint to the result of a poll, if an equal answer would give an equal result.

    It is not added for a list, which has many targets, and not for month-to-date values, whose count depends on the
    time of each poll, too.
    """
    outcome = polled.outcomes[0]
    sources = (source for count in outcome.counts for _, source in count.sources)
    is_steady = len(polled.outcomes) == 1 and polled.found is None and outcome.error is None
    if not fingerprint or not is_steady or any(isinstance(source, MonthToDate) for source in sources):
        return polled
    return replace(polled, outcomes=(replace(outcome, fingerprint=fingerprint),))


class Poller:
    """Runs collectors.

    Args:
        registry: the names of resources, and which of them this process polls.
        clocks: the clocks.
    """

    def __init__(self, registry: Registry, clocks: Clocks) -> None:
        self._registry = registry
        self._clocks = clocks

    async def poll(
        self,
        collector: Collector,
        target: Target,
        caller: Caller,
        *,
        found: Callable[[Inventory], Awaitable[None]] | None = None,
        recognition: Recognition | None = None,
        now: datetime | None = None,
    ) -> Polled:
        """Poll a target once. An error of the platform is part of the result.

        Args:
            collector: the collector to run.
            target: the target to poll.
            caller: makes the calls.
            found: receives the findings of a discovery before its end; the result does not repeat them. Without it, the
                result contains all findings.
            recognition: recognises an answer that is equal to the last one; such an answer is not parsed.
            now: the time that the poll uses as the present; None for the real one.
        """
        present = now or self._clocks.utc()
        known = self._registry
        context = Context(caller, known, present, owns=known.owns, lacking=known.lacking, found=found)
        try:
            polled = await collector.poll(context, target)
        except PlatformError as error:
            return failed(target, error)
        except UnchangedError as same:
            last = recognition.fingerprint if recognition is not None else b""
            return Polled((Outcome(target, fingerprint=last, is_unchanged=True),), same.date)
        return polled if recognition is None else _recognisable(polled, recognition.fingerprint)

    def accepts(self, target: Target, outcome: Outcome) -> bool:
        """Return whether an outcome of a poll is used.

        Targets may have been removed while they were polled, and a list contains some that other shards poll.

        Args:
            target: the polled target.
            outcome: one outcome of that poll.
        """
        if outcome.target == target:
            return self._registry.is_polled(target.key)
        return self._registry.admits(outcome.target)
