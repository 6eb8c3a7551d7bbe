"""Polls a target once, for the daemon, `check` and `backfill`."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from exporter.clock import Clocks
from exporter.collectors.collector import Collector, Context, Outcome, Polled
from exporter.platform.errors import PlatformError
from exporter.platform.operation import Caller, UnchangedError
from exporter.targets.registry import Registry
from exporter.targets.target import Inventory, Target


def failed(target: Target, error: PlatformError) -> Polled:
    """Return the result of a poll that failed."""
    return Polled((Outcome(target, error=error),))


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
        now: datetime | None = None,
    ) -> Polled:
        """Poll a target once. An error of the platform is part of the result.

        Args:
            collector: the collector to run.
            target: the target to poll.
            caller: makes the calls.
            found: receives the findings of a discovery before its end; the result does not repeat them. Without it, the
                result contains all findings.
            now: the time that the poll uses as the present; None for the real one.
        """
        present = now or self._clocks.utc()
        known = self._registry
        context = Context(caller, known, present, owns=known.owns, lacking=known.lacking, found=found)
        try:
            return await collector.poll(context, target)
        except PlatformError as error:
            return failed(target, error)
        except UnchangedError as same:
            return Polled((Outcome(target, is_unchanged=True),), same.date)

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
