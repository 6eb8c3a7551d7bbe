"""Answers that equal the last ones: they are not parsed, and the served values stay correct."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from exporter.counters.rows import StateRow
from exporter.counters.storage import MemoryStorage, StorageError
from exporter.platform.http import responses
from exporter.platform.operation import Operation
from exporter.targets.target import PollKey
from tests.exporter_parts import ExporterParts, exporter_parts, only
from tests.polling.platform import Platform, running
from tests.waiting import PATIENCE, until

INTERVAL = 300
ROUND = INTERVAL * 1.5 + 1
ZONES = {"shield_zones": {"discover": False}, "scripts": {"discover": False}}
COLLECTORS = {**only("discovery"), "dns_statistics": {"interval": INTERVAL}}


@dataclass
class Answers(Platform):
    """A platform whose zones have a chart of two days."""

    days: dict[str, int] = field(default_factory=lambda: {"2026-02-07T00:00:00Z": 5, "2026-02-08T00:00:00Z": 7})
    total: int = 12
    is_broken: bool = False
    suffix: str = "example"

    def answer(self, target: str, body: bytes) -> object:
        """Return the body of an answer."""
        if "statistics" in target:
            return [] if self.is_broken else {"TotalQueriesServed": self.total, "QueriesServedChart": self.days}
        whole = json.dumps(super().answer(target, body))
        return json.loads(whole.replace(".example", f".{self.suffix}"))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the operations whose answers were parsed."""
    operations: list[str] = []
    real = responses.payload

    def payload(operation: Operation[object], *rest: object) -> object:
        operations.append(operation.name)
        return real(operation, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(responses, "payload", payload)
    return operations


@pytest.fixture
def may_write(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let the ledger's storage write only while this is set, as it is at first."""
    event, commit = asyncio.Event(), MemoryStorage.commit
    event.set()

    async def held(storage: MemoryStorage, rows: Mapping[PollKey, StateRow | None]) -> Collection[PollKey]:
        await asyncio.wait_for(event.wait(), PATIENCE)
        return await commit(storage, rows)

    monkeypatch.setattr(MemoryStorage, "commit", held)
    return event


@pytest.fixture
def platform() -> Iterator[Answers]:
    """Run a platform that always gives the same answers."""
    with running(Answers()) as started:
        assert isinstance(started, Answers)
        yield started


@asynccontextmanager
async def polled(platform: Answers) -> AsyncIterator[ExporterParts]:
    """Run parts of an exporter that has polled its zones and accepts the platform's clock."""
    async with exporter_parts(url=platform.url, account=ZONES, collectors=COLLECTORS) as parts:
        await parts.turn(ROUND)
        yield parts


async def asked(platform: Answers, parts: ExporterParts) -> None:
    """Poll each zone again, and wait until the platform was asked, but not for what follows."""
    # A zone that is still being polled when it is due would miss this round.
    await until(lambda: not parts.schedule.pools["main"].busy)
    number = platform.count("statistics") + 3
    parts.clock.now += ROUND
    parts.schedule.tick("dns_statistics")
    await until(lambda: platform.count("statistics") == number)


def key(zone: int) -> PollKey:
    """Return a zone's key for the statistics' collector."""
    return PollKey.of("dns_statistics", "main", "dns_zone", str(zone))


async def test_it_is_not_parsed_its_time_and_duration_are_those_of_the_last_call_and_its_series_do_not_expire(
    platform: Answers, parsed: list[str]
) -> None:
    class Slow(Answers):
        def answer(self, target: str, body: bytes) -> object:
            parts.clock.now += 2.5 if "/dnszone/1/statistics" in target else 0.0
            return super().answer(target, body)

    async with polled(platform) as parts:
        before = parts.samples("edge_target_last_success_timestamp_seconds", collector="dns_statistics")
        series = parts.samples("edge_dns_queries_total") | parts.samples("edge_dns_window_queries")
        remembered = parts.ledger.remembered()[key(1)]
        asked, read = platform.count("statistics"), parsed.count("dns_statistics")
        platform.answer = Slow().answer  # type: ignore[method-assign]
        await parts.turn(ROUND)
        after = parts.samples("edge_target_last_success_timestamp_seconds", collector="dns_statistics")
        assert platform.count("statistics") == asked + 3
        assert {target: after[target] - before[target] for target in before} == dict.fromkeys(before, ROUND)
        assert parts.ledger.remembered()[key(1)].success == remembered.success + ROUND
        assert parts.ledger.remembered()[key(1)].data == remembered.data
        status = parts.store.find(key(1))
        assert status is not None
        assert status.duration == 2.5
        for _ in range(5):
            await parts.turn(ROUND)
        assert parts.samples("edge_dns_queries_total") | parts.samples("edge_dns_window_queries") == series
        assert parsed.count("dns_statistics") == read


async def test_it_is_read_again_on_a_new_day(platform: Answers, parsed: list[str]) -> None:
    async with polled(platform) as parts:
        read = parsed.count("dns_statistics")
        await parts.turn(86_400)
        assert parsed.count("dns_statistics") == read + 3
        await parts.turn(ROUND)
        assert parsed.count("dns_statistics") == read + 3


async def test_it_is_read_again_after_a_failure_and_brings_back_what_had_expired(platform: Answers) -> None:
    async with polled(platform) as parts:
        platform.is_broken = True
        for _ in range(4):
            await parts.turn(ROUND)
        assert parts.samples("edge_dns_queries_total") == {}
        platform.is_broken = False
        await parts.turn(ROUND)
        assert len(parts.samples("edge_dns_queries_total")) == 3
        assert set(parts.samples("edge_target_up", collector="dns_statistics").values()) == {1.0}


async def test_it_is_read_again_while_a_cap_leaves_series_out(platform: Answers) -> None:
    async with polled(platform) as parts:
        parts.exposition.govern(2, lambda _: True, created=False)
        platform.days["2026-02-08T00:00:00Z"] = 9
        await parts.turn(ROUND)
        assert len(parts.samples("edge_dns_queries_total")) == 2
        parts.exposition.govern(100, lambda _: True, created=False)
        await parts.turn(ROUND)
        assert len(parts.samples("edge_dns_queries_total")) == 3


async def test_it_is_read_again_where_what_it_told_is_not_on_disk(
    platform: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StorageError("the disk is full")

    async with polled(platform) as parts:
        platform.days["2026-02-08T00:00:00Z"] = 9
        with monkeypatch.context() as failing:
            failing.setattr(MemoryStorage, "commit", refuse)
            await parts.turn(ROUND)
        assert set(parts.samples("edge_dns_queries_total").values()) == {0.0}
        parts.ledger.wake()
        await parts.turn(ROUND)
        assert set(parts.samples("edge_dns_queries_total").values()) == {2.0}


async def test_it_is_read_again_while_the_answer_between_is_not_on_disk(
    platform: Answers, may_write: asyncio.Event
) -> None:
    async with polled(platform) as parts:
        may_write.clear()
        for platform.total in (14, 12):
            await asked(platform, parts)
        may_write.set()
        await parts.turn(0)
        assert set(parts.samples("edge_dns_window_queries").values()) == {12.0}


async def test_a_zone_with_another_name_is_read_again(platform: Answers) -> None:
    async with polled(platform) as parts:
        platform.suffix = "net"
        for _ in range(3):
            await parts.turn(ROUND)
        domains = {domain for _, domain, _ in parts.samples("edge_dns_queries_total")}
        assert domains == {"zone-1.net", "zone-2.net", "zone-3.net"}
