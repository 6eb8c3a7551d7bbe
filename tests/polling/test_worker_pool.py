"""One account's queue and its workers."""

import asyncio

import pytest

from exporter.collectors import dns_statistics
from exporter.polling.poll import DuePoll
from exporter.polling.scheduler import WorkerPool
from exporter.polling.timetable import SMOOTHING
from exporter.targets.target import Target
from tests.waiting import until


def run(number: int) -> DuePoll:
    """Return a poll of a zone."""
    return DuePoll(dns_statistics.COLLECTOR, Target("main", "dns_zone", str(number)), 1000.0, 0.0)


async def test_workers_begin_one_after_another_whatever_comes_due_at_once() -> None:
    passes = 0
    began: list[int] = []

    async def count() -> None:
        nonlocal passes
        while True:
            passes += 1
            await asyncio.sleep(0)

    async def poll(_run: DuePoll) -> None:
        began.append(passes)

    counting = asyncio.create_task(count())
    starts = asyncio.Lock()
    # Time stands still, so that no poll waits.
    pools = [WorkerPool(8, poll, starts, lambda: 0.0, delay=10.0) for _ in range(2)]
    for pool in pools:
        pool.start()
        for number in range(20):
            pool.offer(run(number))
    await until(lambda: not any(pool.busy for pool in pools))
    for pool in pools:
        await pool.stop()
    counting.cancel()
    assert len(began) == 40
    assert len(set(began)) == 40, "others had a turn between any two"
    assert [pool.delay for pool in pools] == [pytest.approx(10 * (1 - SMOOTHING) ** 20)] * 2
