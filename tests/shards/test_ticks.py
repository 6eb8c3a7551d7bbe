"""The scheduler's ticks and the polls share the event loop's thread."""

import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from exporter.polling.scheduler import Schedule
from tests.shards.sharded_daemons import sharded_daemons
from tests.waiting import until


async def test_every_tick_runs_on_the_event_loops_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    ticking = Schedule._ticking

    def noting(schedule: Schedule, name: str) -> Generator[None, None, None]:
        threads.append(threading.get_ident())
        return ticking(schedule, name)

    async with (
        sharded_daemons(tmp_path, collectors={"dns_statistics": {"interval": "30s"}}) as shared,
        shared.running(1),
    ):
        monkeypatch.setattr(Schedule, "_ticking", noting)
        await until(lambda: len(threads) >= 2)
    assert set(threads) == {threading.get_ident()}
