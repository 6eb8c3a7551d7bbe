"""One run of an exporter, from the client's answers to the store's families, one poll at a time."""

import asyncio
from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry

from exporter.clock import Clocks
from exporter.collectors.collector import Polled, TargetCollector
from exporter.counters.ledger import Ledger, LedgerObserver
from exporter.counters.storage import Storage
from exporter.exposition.store import Store
from exporter.metric import Family, Kind
from exporter.platform.http.client import Client
from exporter.polling.failure_log import FailureLog
from exporter.polling.first_discovery import FirstDiscovery
from exporter.polling.poll import DuePoll, PollMemory, Polls
from exporter.polling.timetable import Account, DueTimes, Plan
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
        self._registry, self._clocks = registry, clocks
        self._store = Store(clocks.wall, clocks.monotonic)
        self._plans = {collector.name: Plan(collector, FOREVER, stale_after=FOREVER) for collector, _ in polled}
        self._memory = PollMemory(
            FailureLog(clocks.monotonic), collectors={name: it.collector for name, it in self._plans.items()}
        )
        self._telemetry = Telemetry(CollectorRegistry(), "test")
        self._served: dict[PollKey, list[Family]] = {}

    async def open(self) -> None:
        """Open the ledger."""
        await self.ledger.open()

    async def poll(self, client: Client, collector: TargetCollector[Any], target: Target) -> Polled:
        """Poll a target, and publish the ledger's result."""
        self._memory.accounts = accounts = {target.account: Account.of(client)}
        monotonic = self._clocks.monotonic
        polls = Polls(
            accounts,
            DueTimes(self._plans, accounts, self._registry, FirstDiscovery(set), monotonic),
            lambda _account, _found: asyncio.sleep(0),
            registry=self._registry,
            store=self._store,
            ledger=self.ledger,
            telemetry=self._telemetry,
            clocks=self._clocks,
            memory=self._memory,
            max_label_values=1000,
        )
        run = DuePoll(collector, target, until=FOREVER)
        polled = await polls.poll(run, monotonic())
        async with asyncio.timeout(PATIENCE):
            while self._memory.counting:
                await asyncio.wait(self._memory.counting.values())
        return polled

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
