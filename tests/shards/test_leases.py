"""Replicas that hold shards by leases: fair shares, takeovers with continued counters, and the samples of each."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from tests.counters.process import Exporter
from tests.counters.sharing_processes import (
    QUERIES,
    SharingProcesses,
    sharing_processes,
    until,
    until_all,
    until_none,
    until_total,
)
from tests.postgres import Postgres

TOTAL = 6
KINDS = {"dns_zone": 3, "script": 1, "shield_zone": 1}
HELD = "edge_exporter_shard_held"
WAITING = """\
# HELP edge_exporter_shard_waiting Whether the exporter can claim no shard, because another shard.total or another \
address of an account is in use, or its shard is.
# TYPE edge_exporter_shard_waiting gauge
edge_exporter_shard_waiting 1.0
"""
EPOCHS = "SELECT shard, holder, epoch FROM edge_exporter_lease ORDER BY shard"


@pytest.fixture
async def sharing(tmp_path: Path, postgres: Postgres) -> AsyncIterator[SharingProcesses]:
    async with sharing_processes(tmp_path, postgres) as shared:
        yield shared


@asynccontextmanager
async def replicas(sharing: SharingProcesses, *names: str, lease: str = "5s") -> AsyncIterator[list[Exporter]]:
    """Replicas that share six shards, each with its share."""
    async with AsyncExitStack() as stack:
        starting = [sharing.exporter(name, lease=lease, index="lease", total=TOTAL) for name in names]
        started = [await stack.enter_async_context(one) for one in starting]
        await shared(started)
        yield started


async def held_by(exporter: Exporter) -> set[str]:
    """Return the shards that an exporter holds."""
    samples = await asyncio.to_thread(exporter.samples, HELD, "shard")
    assert set(samples) == {str(shard) for shard in range(TOTAL)}
    return {shard for shard, is_held in samples.items() if is_held}


async def shared(exporters: Sequence[Exporter]) -> None:
    """Wait until each exporter holds its part of the shards, and every zone is served by one of them."""

    async def are_even() -> bool:
        held = [await held_by(exporter) for exporter in exporters]
        return {len(own) for own in held} == {TOTAL // len(exporters)} and len(set().union(*held)) == TOTAL

    await until(are_even)
    await until_all(*exporters)


def listed(exporter: Exporter) -> dict[str, list[str]]:
    """Return the addresses of each kind of target that is known, for probes."""
    known = [kind for kind in KINDS if exporter.answers(f"/sd/{kind}")]
    return {kind: [group["targets"][0] for group in json.loads(exporter.text(f"/sd/{kind}"))] for kind in known}


async def test_a_replica_takes_over_the_shards_of_one_that_was_killed_goes_on_counting_and_lists_the_same_targets(
    sharing: SharingProcesses,
) -> None:
    async with replicas(sharing, "one", "two") as (one, two):
        sharing.serve(10)
        await until_total(30, one, two)

        async def are_all_listed() -> bool:
            found = [await asyncio.to_thread(listed, each) for each in (one, two)]
            return found[0] == found[1] and {kind: len(each) for kind, each in found[0].items()} == KINDS

        await until(are_all_listed)
        before = listed(two)
        await asyncio.to_thread(one.end, signal.SIGKILL)
        assert listed(two) == before
        sharing.serve(4)
        await until_total(42, two)
        assert await held_by(two) == {str(shard) for shard in range(TOTAL)}
        takeovers = await asyncio.to_thread(two.samples, "edge_exporter_shard_takeovers_total", "shard")
        assert sum(takeovers.values()) == TOTAL
        assert listed(two) == before


async def test_surplus_shards_are_handed_over_to_a_replica_that_comes_and_back_when_it_ends(
    sharing: SharingProcesses,
) -> None:
    async with replicas(sharing, "one") as (one,):
        sharing.serve(10)
        await until_total(30, one)
        async with sharing.exporter("two", index="lease", total=TOTAL) as two:
            await shared([one, two])
            sharing.serve(1)
            await until_total(33, one, two)
            assert await asyncio.to_thread(two.end) == 0
            sharing.serve(1)
            await until_total(36, one)
        losses = await asyncio.to_thread(one.samples, "edge_exporter_shard_losses_total", "shard")
        assert set(losses.values()) == {0}


async def test_a_suspended_replica_drops_the_shards_that_another_has_taken_and_takes_its_share_again(
    sharing: SharingProcesses,
) -> None:
    async with replicas(sharing, "one", "two") as (one, two):
        sharing.serve(10)
        await until_total(30, one, two)
        one.send(signal.SIGSTOP)
        sharing.serve(4)
        await until_total(42, two)
        # It waits in the socket until the process goes on, and finds that the leases may have ended.
        asked = asyncio.create_task(asyncio.to_thread(one.samples, QUERIES, "zone_id"))
        await asyncio.sleep(0)
        one.send(signal.SIGCONT)
        assert await asked == {}
        await shared([one, two])
        await until_total(42, one, two)
        assert "lease lost to another exporter" in one.events
        sharing.serve(1)
        await until_total(45, one, two)


async def test_after_a_restart_of_the_database_counters_catch_up_and_each_replica_keeps_its_shards(
    sharing: SharingProcesses, postgres: Postgres
) -> None:
    """All leases have ended in the meantime; the first replica that returns does not claim those of the others."""
    leases = "UPDATE edge_exporter_lease SET expires = now()", "UPDATE edge_exporter_member SET expires = now()"
    async with replicas(sharing, "one", "two", lease="30s") as both:
        sharing.serve(10)
        await until_total(30, *both)
        with psycopg.connect(sharing.url) as connection:
            for statement in leases:
                connection.execute(statement)
            epochs = connection.execute(EPOCHS).fetchall()
        await asyncio.to_thread(postgres.stop)
        try:
            await until_none(*both)
        finally:
            await asyncio.to_thread(postgres.start)
        sharing.serve(5)
        await until_total(45, *both)
        with psycopg.connect(sharing.url) as connection:
            assert connection.execute(EPOCHS).fetchall() == epochs


async def test_a_spare_is_ready_though_it_holds_nothing_and_polls_nothing(sharing: SharingProcesses) -> None:
    async with sharing.exporter("one", index="lease", total=1) as one:
        await until_all(one)
        async with sharing.exporter("two", index="lease", total=1) as two:
            await until(lambda: asyncio.to_thread(two.answers, "/-/ready"))
            assert await asyncio.to_thread(two.samples, "edge_api_requests_total", "operation") == {}
            await asyncio.to_thread(one.end, signal.SIGKILL)
            await until_total(0, two)


@pytest.mark.parametrize("why", ["total", "address"])
async def test_an_exporter_that_waits_for_others_says_so_until_they_are_gone(
    why: str, sharing: SharingProcesses
) -> None:
    address = sharing.sandboxed.sandbox.url.replace("127.0.0.1", "localhost")
    own = {"base_url": address} if why == "address" else {}
    words = "at another base_url" if why == "address" else " of 2"
    begins, ends = "waiting for another exporter", "no longer waiting for another exporter"
    async with sharing.exporter("one", index="lease", total=2) as one:
        await until_all(one)
        async with sharing.exporter("two", index="lease", total=2 if own else 3, own=own) as two:
            await asyncio.to_thread(two.waits_for, begins)
            await until(lambda: asyncio.to_thread(two.answers, "/-/ready"))
            for path in ("/-/ready", "/"):
                assert words in await asyncio.to_thread(two.text, path), path
            assert await asyncio.to_thread(two.text, "/metrics?name[]=edge_exporter_shard_waiting") == WAITING
            # Half of a lease: it has renewed its membership, and tried to claim shards, several times.
            await asyncio.sleep(2.5)
            held = await asyncio.to_thread(one.samples, HELD, "shard")
            assert held == {"0": 1, "1": 1}, "it takes no shard from those that poll"
            await asyncio.to_thread(one.end)
            await until_all(two)
            await asyncio.to_thread(two.waits_for, ends)
            assert await asyncio.to_thread(two.text, "/-/ready") == "ready\n"
            assert [two.events.count(event) for event in (begins, ends)] == [1, 1]
        assert begins not in one.events


async def test_exporters_with_targets_of_different_sources_log_it_once_and_share_the_shards(
    sharing: SharingProcesses,
) -> None:
    begins, ends = "exporters poll targets of different sources", "exporters poll targets of the same sources again"
    async with sharing.exporter("one", index="lease", total=2) as one:
        await until_all(one)
        async with sharing.exporter("two", index="lease", total=2, own={"dns_zones": {"exclude": ["none"]}}) as two:
            await asyncio.to_thread(one.waits_for, begins)
            await asyncio.to_thread(two.waits_for, begins)
            await until_all(one, two)
            await asyncio.to_thread(two.end)
        await asyncio.to_thread(one.waits_for, ends)
        assert [one.events.count(event) for event in (begins, ends)] == [1, 1]
