"""Exporters on a state database: takeovers, suspended processes, restarts and secrets."""

import asyncio
import signal
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import psycopg
import pytest

from tests.counters.sharing_processes import (
    QUERIES,
    ZONES,
    SharingProcesses,
    served,
    sharing_processes,
    until_all,
    until_none,
    until_total,
)
from tests.postgres import PASSWORD, Postgres


@pytest.fixture
async def sharing(tmp_path: Path, postgres: Postgres) -> AsyncIterator[SharingProcesses]:
    async with sharing_processes(tmp_path, postgres) as shared:
        yield shared


async def test_a_process_that_ends_leaves_its_shard_to_the_next_at_once(sharing: SharingProcesses) -> None:
    async with sharing.exporter("one") as one:
        await until_all(one)
        assert await asyncio.to_thread(one.end) == 0
    with psycopg.connect(sharing.url) as connection:
        assert connection.execute("SELECT bool_and(expires <= now()) FROM edge_exporter_lease").fetchone() == (True,)


async def test_a_suspended_process_serves_no_counter_that_another_has_passed_and_ends(
    sharing: SharingProcesses,
) -> None:
    async with sharing.exporter("one") as one:
        await until_all(one)
        sharing.serve(10)
        await until_total(30, one)
        one.send(signal.SIGSTOP)
        async with sharing.exporter("two") as two:
            sharing.serve(10)
            await until_total(60, two)
            # It waits in the socket until the process goes on.
            asked = asyncio.create_task(asyncio.to_thread(urllib.request.urlopen, f"{one.url}/metrics"))
            await asyncio.sleep(0)
            one.send(signal.SIGCONT)
            with suppress(OSError):
                assert f"{QUERIES}{{" not in (await asked).read().decode()
            assert await asyncio.to_thread(one.wait) == 1
            assert "lease lost to another exporter" in one.events
            assert any("has taken this one's shard in postgresql://127.0.0.1" in event for event in one.events)
            sharing.serve(1)
            await until_total(63, two)


async def test_counters_catch_up_after_a_restart_of_the_database(sharing: SharingProcesses, postgres: Postgres) -> None:
    async with sharing.exporter("one") as one:
        await until_all(one)
        sharing.serve(10)
        await until_total(30, one)
        await asyncio.to_thread(postgres.stop)
        try:
            sharing.serve(5)
            # Once the lease may have ended, counters are a gap; gauges are polled and served on.
            await until_none(one)
            assert await asyncio.to_thread(one.samples, "edge_exporter_shard_held", "shard") == {"0": 0}
            assert len(await asyncio.to_thread(one.samples, "edge_dns_window_queries", "zone_id")) == len(ZONES)
        finally:
            await asyncio.to_thread(postgres.start)
        await until_total(45, one)
        assert "state saved again" in one.events
        assert not any("psycopg" in event for event in one.events), "what the library ignores is not logged twice"


async def test_a_process_starts_while_the_database_is_away_and_counts_when_it_is_back(
    sharing: SharingProcesses, postgres: Postgres
) -> None:
    async with sharing.exporter("one") as one:
        await until_all(one)
        await asyncio.to_thread(one.end)
    await asyncio.to_thread(postgres.stop)
    try:
        sharing.serve(7)
        async with AsyncExitStack() as stack:
            two = await stack.enter_async_context(sharing.exporter("two"))
            assert await served(two) == []
            await asyncio.to_thread(postgres.start)
            await until_total(21, two)
    finally:
        if postgres.has_ended():
            postgres.start()


async def test_another_number_of_shards_goes_on_with_every_counter(sharing: SharingProcesses) -> None:
    """After the change, another process counts each target, and no counter starts again."""
    async with sharing.exporter("a", index=0, total=2) as a, sharing.exporter("b", index=1, total=2) as b:
        await until_all(a, b)
        sharing.serve(10)
        await until_total(30, a, b)
        for exporter in (a, b):
            await asyncio.to_thread(exporter.end)
    sharing.serve(1)
    async with (
        sharing.exporter("c", index=0, total=3) as c,
        sharing.exporter("d", index=1, total=3) as d,
        sharing.exporter("e", index=2, total=3) as e,
    ):
        await until_total(33, c, d, e)


async def test_the_password_is_seen_nowhere(sharing: SharingProcesses) -> None:
    async with sharing.exporter("one") as one:
        await until_all(one)
        seen = await asyncio.to_thread(Path(f"/proc/{one.pid}/cmdline").read_text)
        for path in ("/metrics", "/", "/api/v1/status", "/api/v1/targets"):
            answer = await asyncio.to_thread(urllib.request.urlopen, f"{one.url}{path}")
            seen += answer.read().decode()
        await asyncio.to_thread(one.end)
        assert PASSWORD not in seen + str(one.logs)
        (reported,) = [entry for entry in one.logs if entry["event"] == "started"]
        assert reported["state"].startswith("postgresql://127.0.0.1:")
