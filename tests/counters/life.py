"""One run of an exporter, from the client's answers to the store's families, one poll at a time."""

import asyncio
from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry

from exporter.clock import Clocks
from exporter.collectors.collector import TargetCollector
from exporter.counters.ledger import Ledger, LedgerObserver
from exporter.counters.storage import Storage
from exporter.exposition.store import Status, Store
from exporter.metric import Family, Kind
from exporter.platform.http.client import Client
from exporter.polling.failure_log import FailureLog
from exporter.polling.pace import Account, Plan
from exporter.polling.poll import Poller
from exporter.polling.schedule import DuePoll, Schedule
from exporter.targets.registry import Registry, Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry
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
        registry = Registry(Shard())
        polled = tuple(polled)
        registry.configure(Selection(target.account, target.kind, fixed=(target,)) for _, target in polled)
        telemetry = Telemetry(CollectorRegistry(), "test")
        self._schedule = Schedule(registry, telemetry, clocks, lambda: 0.5, lambda _change: None)
        self._store = Store(clocks.wall, clocks.monotonic)
        failures = FailureLog(clocks.monotonic)
        self._poller = Poller(self._schedule, registry, self._store, self.ledger, telemetry, clocks, failures)
        self._plans = {collector.name: Plan(collector, FOREVER, stale_after=FOREVER) for collector, _ in polled}
        self._served: dict[PollKey, list[Family]] = {}

    async def open(self) -> None:
        """Open the ledger."""
        await self.ledger.open()

    async def poll(self, client: Client, collector: TargetCollector[Any], target: Target) -> Status:
        """Poll a target, publish the ledger's result, and return the target's status."""
        account = Account.of(client)
        self._schedule.use(self._plans, {target.account: account})
        async with asyncio.timeout(PATIENCE):
            due = DuePoll(self._plans[collector.name], target, account, until=FOREVER, is_answered=True)
            await self._poller.poll(due)
        status = self._store.find(PollKey(target.key, collector.name))
        assert status is not None
        return status

    async def close(self) -> None:
        """Close the ledger."""
        await self.ledger.close()
        assert not self.ledger.is_alive()

    def counters(self, key: PollKey) -> list[Family]:
        """Return the served counters of a target."""
        for changed, update in self._store.changes().items():
            if update.whole:
                self._served[changed] = [family for family in update.families if family.info.kind is Kind.COUNTER]
        return self._served.get(key, [])
