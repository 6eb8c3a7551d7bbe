"""Replicas whose network connection to the state database fails: late commits, unfinished ones, and no answers."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.counters.rows import StateRow
from tests.chaos.proxy import Proxy
from tests.counters.ledger_driver import WALL
from tests.counters.process import Exporter
from tests.counters.sharing_processes import (
    SharingProcesses,
    served,
    sharing_processes,
    until_all,
    until_none,
    until_total,
)
from tests.counters.state_locations import DatabaseLocation
from tests.counters.test_state_database import FIRST, LONG, SECOND, ZONE, claim, commit, end_leases
from tests.postgres import Postgres
from tests.waiting import PATIENCE

# How the statement begins that writes rows under their lease.
WRITES = b"WITH held AS"


@dataclass(frozen=True)
class Network:
    """A sandbox, a state database, and a proxy between one of the replicas and the database."""

    direct: SharingProcesses
    proxied: SharingProcesses
    proxy: Proxy

    async def hang_before(self, *markers: bytes) -> None:
        """Add queries, and make the network hang in the commit that counts them."""
        hangs = asyncio.create_task(self.proxy.hang_before(*markers))
        await asyncio.sleep(0)
        self.direct.serve(4)
        await asyncio.wait_for(hangs, PATIENCE)


@pytest.fixture
async def network(tmp_path: Path, postgres: Postgres) -> AsyncIterator[Network]:
    async with sharing_processes(tmp_path, postgres) as direct:
        proxy = Proxy(postgres.port)
        await proxy.start()
        url = postgres.url(direct.url.rpartition("/")[2], proxy.port)
        yield Network(direct, SharingProcesses(direct.sandboxed, tmp_path, url), proxy)
        await proxy.stop()


async def test_a_write_that_arrives_after_a_takeover_is_refused(network: Network) -> None:
    location = DatabaseLocation(network.direct.url, LONG)
    direct, late = location.connect(), DatabaseLocation(network.proxied.url, LONG).connect()
    direct.prepare()
    old = claim(direct, FIRST)
    hangs = asyncio.create_task(network.proxy.hang_before(WRITES))
    written = asyncio.create_task(asyncio.to_thread(commit, late, {ZONE: StateRow("a", WALL, b"old")}, FIRST, old))
    await asyncio.wait_for(hangs, PATIENCE)
    end_leases(location)
    commit(direct, {ZONE: StateRow("a", WALL, b"new")}, SECOND, claim(direct, SECOND))
    network.proxy.pass_on()
    assert not await written
    assert direct.rows(SECOND, {0}) == {ZONE: StateRow("a", WALL, b"new")}
    for database in (direct, late):
        database.close()


async def test_a_replica_that_vanishes_in_the_middle_of_a_commit_keeps_no_shard(network: Network) -> None:
    """The database has the whole transaction, with its locks, except for its last statement."""
    async with network.proxied.exporter("one", index="lease", total=1) as one:
        await until_all(one)
        network.direct.serve(10)
        await until_total(30, one)
        await network.hang_before(WRITES, b"COMMIT")
        assert sum(count for _, count in await served(one)) in {30, 0}, "what is not committed is not served"
        async with network.direct.exporter("two", index="lease", total=1) as two:
            await until_total(42, two)
            assert await served(one) == []
            network.proxy.pass_on()
            await asyncio.to_thread(one.waits_for, "lease lost to another exporter")
            network.direct.serve(1)
            await until_total(45, two)
            assert await served(one) == []


async def test_while_the_database_gives_no_answer_gauges_go_on_and_no_counter_is_served_after_the_lease(
    network: Network,
) -> None:
    async with network.proxied.exporter("one", index="lease", total=1) as one:
        await until_all(one)
        network.direct.serve(10)
        await until_total(30, one)
        before = await windows(one)
        network.proxy.hang()
        await asyncio.to_thread(one.waits_for, "leases not renewed")
        assert "no answer within 1.66667 s" in str(one.logs), "a third of the lease's length"
        network.direct.serve(4)
        async with asyncio.timeout(PATIENCE):
            # Polls are shown after each attempt to write.
            while await windows(one) != {zone: value + 4 for zone, value in before.items()}:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await until_none(one)
        network.proxy.pass_on()
        await until_total(42, one)


async def windows(exporter: Exporter) -> dict[str, float]:
    """Return the gauges of all zones."""
    return await asyncio.to_thread(exporter.samples, "edge_dns_window_queries", "zone_id")
