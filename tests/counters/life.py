"""One run of an exporter, from the client's answers to the store's families, one poll at a time."""

import queue
from collections.abc import Callable, Iterable
from typing import Any

from exporter.clock import Clocks
from exporter.collectors.collector import Polled, TargetCollector
from exporter.collectors.poll import Poller
from exporter.counters.ledger import Ledger, LedgerObserver
from exporter.counters.storage import Storage
from exporter.exposition.status_board import StatusBoard
from exporter.exposition.store import Store
from exporter.metric import Family, Kind
from exporter.platform.http.client import Client
from exporter.polling.results import ResultRecorder
from exporter.targets.registry import Registry, Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import PollKey, Target
from tests.waiting import PATIENCE

FOREVER = 1e12


class Life:
    """Polls targets, records the results, and keeps the counters that are served.

    Args:
        storage: stores the ledger's rows.
        observer: the ledger's observer.
        clocks: this machine's.
        polled: the collectors, each with its target.
    """

    def __init__(
        self,
        storage: Storage,
        observer: LedgerObserver,
        clocks: Clocks,
        polled: Iterable[tuple[TargetCollector[Any], Target]],
    ) -> None:
        self.ledger = Ledger(storage, observer, clocks=clocks, linger=0, retry=1.0)
        self.ledger.open()
        registry = Registry(Shard())
        polled = tuple(polled)
        registry.configure(Selection(target.account, target.kind, fixed=(target,)) for _, target in polled)
        self._poller = Poller(registry, clocks)
        self._store = Store(StatusBoard(clocks.wall), clocks.monotonic)
        self._calls: queue.SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]] = queue.SimpleQueue()
        self._results = ResultRecorder(
            registry, self._store, self.ledger, poller=self._poller, clocks=clocks, call_soon=self._call_soon
        )
        self._results.running = {collector.name: collector for collector, _ in polled}
        self._served: dict[PollKey, list[Family]] = {}

    def _call_soon(self, function: Callable[..., object], *arguments: object) -> None:
        self._calls.put((function, arguments))

    async def poll(self, client: Client, collector: TargetCollector[Any], target: Target) -> Polled:
        """Poll a target, and publish the ledger's result."""
        recognition = self._results.recognition(collector, target)
        caller = client.until(FOREVER, recognition)
        polled = await self._poller.poll(collector, target, caller, recognition=recognition)
        async for outcome in self._results.record(collector, target, polled, lambda _: FOREVER, 0.0):
            if outcome.error is None:
                function, arguments = self._calls.get(timeout=PATIENCE)
                function(*arguments)
        return polled

    def close(self) -> None:
        """Close the ledger; on a busy machine the last commit may take longer than a process would wait for it."""
        while self.ledger.is_alive():
            self.ledger.close()

    def counters(self, key: PollKey) -> list[Family]:
        """Return the served counters of a target."""
        for changed, update in self._store.changes().items():
            if update.whole:
                self._served[changed] = [family for family in update.families if family.info.kind is Kind.COUNTER]
        return self._served.get(key, [])
