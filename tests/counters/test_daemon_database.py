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
    SharingProcesses,
    served,
    sharing_processes,
    until_all,
    until_total,
)
from tests.postgres import PASSWORD, Postgres


@pytest.fixture
async def sharing(tmp_path: Path, postgres: Postgres) -> AsyncIterator[SharingProcesses]:
    async with sharing_processes(tmp_path, postgres) as shared:
        yield shared


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
            assert not any("psycopg" in event for event in two.events), "what the library ignores is not logged twice"
    finally:
        if postgres.has_ended():
            postgres.start()


async def test_the_password_is_seen_nowhere_and_a_process_that_ends_leaves_its_shard_to_the_next_at_once(
    sharing: SharingProcesses,
) -> None:
    async with sharing.exporter("one") as one:
        await until_all(one)
        seen = await asyncio.to_thread(Path(f"/proc/{one.pid}/cmdline").read_text)
        for path in ("/metrics", "/", "/api/v1/status", "/api/v1/targets"):
            answer = await asyncio.to_thread(urllib.request.urlopen, f"{one.url}{path}")
            seen += answer.read().decode()
        assert await asyncio.to_thread(one.end) == 0
        assert PASSWORD not in seen + str(one.logs)
        (reported,) = [entry for entry in one.logs if entry["event"] == "started"]
        assert reported["state"].startswith("postgresql://127.0.0.1:")
    with psycopg.connect(sharing.url) as connection:
        assert connection.execute("SELECT bool_and(expires <= now()) FROM edge_exporter_lease").fetchone() == (True,)
