"""Exporters on a state database: takeovers, suspended processes, restarts and secrets."""

import asyncio
import signal
import urllib.request
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from exporter.blocking import one_thread
from exporter.daemon.daemon import Daemon
from exporter.daemon.machine import Machine
from exporter.settings.model import Settings
from exporter.wiring.state_storage import postgres_storage
from tests import waiting
from tests.counters.chaos import FAULTS, chaos
from tests.counters.exporter_process import Exporter
from tests.counters.sharing_processes import (
    QUERIES,
    SharingProcesses,
    served,
    sharing_processes,
    until,
    until_all,
    until_total,
)
from tests.postgres import PASSWORD, Postgres


@pytest.fixture
async def sharing(tmp_path: Path, postgres: Postgres) -> AsyncIterator[SharingProcesses]:
    async with sharing_processes(tmp_path, postgres) as shared:
        yield shared


async def text(exporter: Exporter, path: str) -> str:
    """Return an answer, whatever its status."""
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(f"{exporter.url}{path}")).text


async def is_spare(exporter: Exporter) -> bool:
    """Return whether an exporter is ready as a spare; it is ready once its key was accepted."""
    return await text(exporter, "/-/ready") == "ready, spare: 1 of 1 shards are held\n"


async def test_a_suspended_process_serves_no_counter_that_another_has_passed_and_is_a_spare_then(
    sharing: SharingProcesses,
) -> None:
    async with sharing.exporter("one") as one, sharing.exporter("two") as two:
        await until_all(one)
        sharing.serve(10)
        await until_total(30, one)
        await until(partial(is_spare, two))
        assert 'edge_exporter_shard_held{shard="0"} 1.0' in await text(two, "/metrics")
        assert "Spare: 1 of 1 shards are held" in await text(two, "/")
        assert (await asyncio.to_thread(two.samples, QUERIES, "zone_id")) == {}
        one.send(signal.SIGSTOP)
        sharing.serve(10)
        await until_total(60, two)
        # It waits in the socket until the process goes on.
        asked = asyncio.create_task(asyncio.to_thread(urllib.request.urlopen, f"{one.url}/metrics"))
        await asyncio.sleep(0)
        one.send(signal.SIGCONT)
        with suppress(OSError):
            assert f"{QUERIES}{{" not in (await asked).read().decode()
        await until(partial(is_spare, one))
        assert "edge_dns_window_queries{" not in await text(one, "/metrics")
        await waiting.until(lambda: "shard lost, waiting for a free one" in one.events)
        sharing.serve(1)
        await until_total(63, two)
        # A killed holder leaves its shard at once, and the next one stays ready before its discovery.
        sharing.sandboxed.faults.add({"kind": "status", "status": 500, "path": "/search"})
        await asyncio.to_thread(two.end, signal.SIGKILL)
        await until_total(63, one)
        assert await text(one, "/-/ready") == "ready\n"


async def test_a_process_that_starts_while_the_database_is_away_waits_for_it(
    sharing: SharingProcesses, postgres: Postgres
) -> None:
    async with sharing.exporter("one") as one:
        await until_all(one)
        await asyncio.to_thread(one.end)
    await asyncio.to_thread(postgres.stop)
    try:
        sharing.serve(7)
        async with sharing.exporter("two") as two:
            assert await served(two) == []
            assert await text(two, "/-/ready") == "not ready: the state database has not answered yet\n"
            await asyncio.to_thread(postgres.start)
            await until_total(21, two)
            assert not any("psycopg" in event for event in two.events), "what the library ignores is not logged twice"
    finally:
        if postgres.has_ended():
            postgres.start()


async def test_a_process_of_another_total_waits_and_is_ready_until_the_last_of_the_former_has_ended(
    sharing: SharingProcesses,
) -> None:
    async with sharing.exporter("old", total=1) as old:
        await until_all(old)
        # A key that may not search is accepted nevertheless, and so is one whose plan does not include the search.
        for more in ({"times": 1}, {"body": '{"error": {"success": false, "errorKey": "invalid_plan_type.x"}}'}):
            sharing.sandboxed.faults.add({"kind": "status", "status": 403, "path": "/search", **more})
        async with (
            sharing.exporter("new", total=2, index="auto") as new,
            sharing.exporter("newer", total=2, index="auto") as newer,
        ):
            words = "ready, spare: exporters with shard.total 1 are running, this one has 2\n"

            async def is_waiting() -> bool:
                return [await text(one, "/-/ready") for one in (new, newer)] == [words, words]

            await until(is_waiting)
            sharing.sandboxed.faults.clear()
            assert await asyncio.to_thread(old.end) == 0
            await until_all(new, newer)


async def test_a_process_that_cannot_begin_to_work_frees_its_shard_and_takes_it_again(
    sharing: SharingProcesses,
) -> None:
    refusals: list[str] = []

    class Refusing(ThreadPoolExecutor):
        def submit(self, *work: Any, **more: Any) -> Future[Any]:
            if refusals:
                raise RuntimeError(refusals.pop())
            return super().submit(*work, **more)

    configured = sharing.settings(index=0, total=1) | {"state": {"url": sharing.url, "lease": "5s"}}
    settings = Settings.model_validate(configured)
    machine = Machine(executors=lambda kind: Refusing(1) if kind == "renderer" else one_thread(kind))
    holder = postgres_storage(settings)
    assert await holder.claim() == 0
    daemon = await Daemon.start(settings, lambda: settings, machine)
    try:
        assert daemon.why_spare() == "spare: 1 of 1 shards are held"
        refusals.append("can't start new thread")
        await holder.close()
        await waiting.until(lambda: not refusals)
        # Another exporter takes the shard before this one tries again: it goes on as a spare.
        index = None
        while index is None:
            await asyncio.sleep(0.1)
            index = await holder.claim()
        rendered = daemon.work.renderer.current
        async with asyncio.timeout(waiting.PATIENCE):
            while daemon.work.renderer.current is rendered:
                # This keeps the holder's session.
                assert await holder.claim() is None
                await asyncio.sleep(0.1)
        assert daemon.why_spare()
        await holder.close()
        await waiting.until(lambda: any(status.up for status in daemon.work.store.statuses.values()))
    finally:
        await daemon.stop()


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
        assert connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (0,)
        assert connection.execute("SELECT DISTINCT installation FROM edge_exporter_row").fetchall() == [("shop",)]


async def test_no_counter_falls_or_loses_a_query_whatever_happens_to_holders_and_the_database(
    sharing: SharingProcesses, postgres: Postgres
) -> None:
    report = await chaos(sharing, postgres, FAULTS)
    assert report["problems"] == []
    assert report["answers"] > 100
