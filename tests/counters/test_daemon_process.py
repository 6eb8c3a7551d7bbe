"""The daemon as a process: how it ends, and what the next one finds."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from exporter.sandbox import keys
from tests.counters.house import House
from tests.counters.process import Exporter
from tests.waiting import END_SECONDS, PATIENCE, until

QUERIES = "edge_dns_queries_total"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    made = House(tmp_path)
    await made.sandbox.start()
    yield made
    await made.sandbox.stop()


def settings(house: House) -> dict[str, Any]:
    """One account that is polled every second."""
    account = {
        "name": "main",
        "base_url": house.sandbox.url,
        "api_key": keys.API_KEY,
        "budget": {"requests_per_second": 1000, "max_in_flight": 8},
        "timeout": "600s",
    }
    return {
        "accounts": [account],
        "web": {"listen": "127.0.0.1:0"},
        "state": {"path": str(house.state)},
        "collectors": {"dns_statistics": {"interval": 1}},
    }


async def started(house: House) -> Exporter:
    """An exporter that serves."""
    return await asyncio.to_thread(Exporter, settings(house), house.state.parent)


async def served(exporter: Exporter, zone: str, value: float) -> None:
    """Wait until a zone's counter is served with this value."""
    async with asyncio.timeout(PATIENCE):
        # Nothing tells of it from outside but a scrape.
        while (await asyncio.to_thread(exporter.samples, QUERIES, "zone_id")).get(zone) != value:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_sigterm_ends_it_though_polls_stall(house: House) -> None:
    exporter = await started(house)
    await served(exporter, "101", 0)
    house.faults.add({"kind": "stall", "point": "start"})
    house.faults.add({"kind": "stall", "point": "body"})
    await until(lambda: any(fault.hits for fault in house.faults.all()))
    async with asyncio.timeout(END_SECONDS):
        assert await asyncio.to_thread(exporter.end) == 0
    assert exporter.events[-1] == "stopping"


async def test_sigterm_saves_what_was_counted(house: House) -> None:
    exporter = await started(house)
    await served(exporter, "101", 0)
    house.world.dns.add_queries(101, 7)
    await served(exporter, "101", 7)
    assert await asyncio.to_thread(exporter.end) == 0
    assert not house.state.with_name("state.db-wal").exists()
    exporter = await started(house)
    await served(exporter, "101", 7)
    assert await asyncio.to_thread(exporter.end) == 0


async def test_kill_9_loses_nothing(house: House) -> None:
    exporter = await started(house)
    await served(exporter, "101", 0)
    expected = 0
    for _ in range(3):
        house.world.dns.add_queries(101, 7)
        await served(exporter, "101", expected + 7)
        house.world.dns.add_queries(101, 100)
        assert await asyncio.to_thread(exporter.end, signal.SIGKILL) == -signal.SIGKILL
        exporter = await started(house)
        expected += 107
        await served(exporter, "101", expected)
    assert await asyncio.to_thread(exporter.end) == 0


async def test_a_second_process_on_the_state_file_says_so_and_ends(house: House) -> None:
    first = await started(house)
    second = await started(house)
    assert await asyncio.to_thread(second.wait) == 1
    assert second.events[-1].endswith("is using this state file")
    assert str(house.state) in second.events[-1]
    assert await asyncio.to_thread(first.end) == 0
