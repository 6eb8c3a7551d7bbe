"""A ledger that a test controls: it takes polls one at a time, and returns the served counters."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

from exporter.blocking import one_thread
from exporter.clock import Clocks
from exporter.counters.ledger import Counters, Ledger, PollRecord
from exporter.counters.rows import unpack
from exporter.counters.state_file import FileStorage
from exporter.counters.storage import Changes
from exporter.metric import Count, DayBuckets, Family, FamilyInfo, Kind, LabelValues, Source
from exporter.targets.target import PollKey
from tests.waiting import PATIENCE

FIRST_SIGHT = datetime(2026, 2, 6, 12, tzinfo=UTC)
DAY_0 = FIRST_SIGHT.toordinal()
QUERIES = FamilyInfo("edge_dns_queries_total", "Queries.", Kind.COUNTER, "", ("account", "zone_id", "domain"))
R = TypeVar("R")
Sources = Mapping[LabelValues, Source]
WALL = FIRST_SIGHT.timestamp()
URL = "https://api.example.net"


def file_storage(path: Path, set_aside: Callable[[float], None] | None = None) -> FileStorage:
    """Return the storage in a file, which may not be set aside unless a function is given that is called then."""
    return FileStorage(path, lambda: WALL, set_aside or not_aside, one_thread("state"))


def write_rows(path: Path, rows: Changes) -> None:
    """Write rows to a state file."""

    async def write() -> None:
        storage = file_storage(path)
        await storage.open()
        await storage.commit(rows)
        await storage.close()

    asyncio.run(write())


def not_aside(_at: float) -> None:
    """Fail: a file that is not damaged was set aside."""
    raise AssertionError("set aside")


def key_of(zone: str) -> PollKey:
    """Return the key of a zone's statistics."""
    return PollKey.of("dns_statistics", "main", "dns_zone", zone)


def poll_of(zone: str, sources: Sources, now: datetime = FIRST_SIGHT, name: str = "shop.example") -> PollRecord:
    """Return a poll of a zone with one counter family."""
    count = Count(QUERIES, ("main", zone, name), tuple(sources.items()))
    return PollRecord(key_of(zone), name, WALL, (count,), now, URL)


def today(count: float, day: int = 0) -> Sources:
    """Return a chart with one day."""
    return {(): DayBuckets({DAY_0 + day: count})}


class LedgerDriver:
    """A ledger, and when a damaged file of it was renamed."""

    def __init__(
        self, path: Path, *, linger: float = 0.0, retry: float = 0.0, monotonic: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.asides: list[float] = []
        # The ledger works on while the test does not ask it for anything, as in a process.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="driver", daemon=True)
        self._thread.start()
        self.storage = file_storage(path, self.asides.append)
        self.ledger = Ledger(self.storage, clocks=Clocks(lambda: WALL, monotonic), linger=linger, retry=retry)
        self._run(self.ledger.open())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def close(self) -> None:
        """Close the ledger."""
        self._run(self.ledger.close())

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def record(self, *entries: PollRecord) -> list[tuple[Family, ...]]:
        """Record polls together; return what is served for each."""
        return [outcome.families for outcome in self.attempt(*entries) if isinstance(outcome, Counters)]

    def attempt(self, *entries: PollRecord) -> list[Counters | BaseException]:
        """Record polls together; return the result of each, or its error."""

        async def attempted() -> list[Counters | BaseException]:
            return await asyncio.gather(*map(self.ledger.record, entries), return_exceptions=True)

        return self._run(attempted())

    def begin(self, entry: PollRecord) -> None:
        """Record a poll without waiting for its commit."""

        async def begun() -> None:
            self._begun = asyncio.create_task(self.ledger.record(entry))
            await asyncio.sleep(0)

        self._run(begun())

    def poll(self, count: float, zone: str = "102", day: int = 0) -> float | None:
        """Poll a zone whose chart has one day; return the served counter, or None."""
        (families,) = self.record(poll_of(zone, today(count, day), FIRST_SIGHT + timedelta(days=day)))
        return families[0].samples[0].value if families else None

    def remembered_count(self) -> float:
        """Return the committed counter of the zone."""
        return unpack(self.ledger.remembered()[key_of("102")].data)[QUERIES.name].series[()].value

    def settle(self) -> None:
        """Wait until the ledger has done all earlier work."""
        self.record(PollRecord(PollKey.of("", "", "", ""), "", WALL, (), FIRST_SIGHT))
