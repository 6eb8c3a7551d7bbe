"""Polls a target once; the daemon, `check` and `backfill` all do it here."""

from collections.abc import Awaitable, Callable

from exporter.clock import Clocks
from exporter.collectors.collector import Collector, Context, Outcome, Polled
from exporter.platform.errors import PlatformError
from exporter.platform.operation import Caller
from exporter.targets.registry import Registry
from exporter.targets.target import Inventory, Target


def failed(target: Target, error: PlatformError) -> Polled:
    """The result of a poll that yielded nothing but an error."""
    return Polled((Outcome(target, error=error),))


class Poller:
    """Runs collectors, and gives them what they need.

    Args:
        registry: names of resources, and which of them this process polls.
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
    ) -> Polled:
        """Poll a target once. An error of the platform is part of the result.

        Args:
            collector: what is run.
            target: what is polled.
            caller: carries out the calls.
            found: receives what a discovery has found before its end, which is then not part of the result; without
                it, the result holds all.
        """
        context = Context(caller, self._registry, self._clocks.utc(), owns=self._registry.owns, tell=found)
        try:
            return await collector.poll(context, target)
        except PlatformError as error:
            return failed(target, error)

    def accepts(self, target: Target, outcome: Outcome) -> bool:
        """Whether an outcome of a poll counts.

        Targets may have been removed while they were polled, and a list contains some that other shards poll.

        Args:
            target: what was polled.
            outcome: one outcome of that poll.
        """
        if outcome.target == target:
            return self._registry.holds(target.key)
        return self._registry.admits(outcome.target)
