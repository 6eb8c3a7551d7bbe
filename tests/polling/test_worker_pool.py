"""One account's queue and its workers."""

import asyncio
from typing import cast

from exporter.collectors.collector import Collector
from exporter.polling.poll import DuePoll
from exporter.polling.scheduler import WorkerPool
from exporter.targets.target import Target


class Named:
    """Replaces a collector: a pool reads only its name."""

    def __init__(self, name: str) -> None:
        self.name = name


def run(number: int, name: str = "dns_statistics", begin_by: float = 0.0) -> DuePoll:
    """Return a poll of a zone."""
    return DuePoll(cast("Collector", Named(name)), Target("main", "dns_zone", str(number)), 1000.0, begin_by)


async def test_no_more_polls_are_under_way_than_there_are_workers() -> None:
    under_way, most = 0, 0
    gate = asyncio.Event()

    async def poll(_run: DuePoll) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await gate.wait()
        under_way -= 1

    pool = WorkerPool(3, poll)
    pool.start()
    for number in range(10):
        assert pool.offer(run(number))
    for _ in range(20):
        await asyncio.sleep(0)
    assert under_way == 3
    gate.set()
    await pool.drained()
    await pool.stop()
    assert most == 3


async def test_a_target_is_queued_once_for_a_collector_and_apart_for_another() -> None:
    polled: list[tuple[str, str]] = []

    async def poll(due: DuePoll) -> None:
        polled.append((due.collector.name, due.target.id))

    pool = WorkerPool(1, poll)
    assert [pool.offer(run(1)), pool.offer(run(1)), pool.offer(run(1, "dns_record_scans"))] == [True, False, True]
    pool.start()
    await pool.drained()
    assert polled == [("dns_statistics", "1"), ("dns_record_scans", "1")]
    assert pool.offer(run(1)), "a poll that has ended may come again"
    await pool.stop()


async def test_what_is_to_begin_soon_does_not_wait_behind_many_polls_that_were_queued_before() -> None:
    polled: list[str] = []

    async def poll(due: DuePoll) -> None:
        polled.append(due.target.id)

    pool = WorkerPool(1, poll)
    for number in range(100, 1000):
        pool.offer(run(number, "dns_record_scans", begin_by=600.0 + number))
    pool.offer(run(2, begin_by=70.0))
    pool.offer(run(1, begin_by=60.0))
    pool.start()
    await pool.drained()
    await pool.stop()
    assert polled == [str(number) for number in (1, 2, *range(100, 1000))]


async def test_stopping_ends_polls_under_way_and_forgets_those_that_wait() -> None:
    async def poll(_run: DuePoll) -> None:
        await asyncio.Event().wait()

    pool = WorkerPool(1, poll)
    pool.start()
    pool.offer(run(1))
    pool.offer(run(2))
    await asyncio.sleep(0)
    await pool.stop()
    assert pool.busy == set()
    await pool.drained()


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
    pools = [WorkerPool(8, poll, starts), WorkerPool(8, poll, starts)]
    for pool in pools:
        pool.start()
        for number in range(20):
            pool.offer(run(number))
    for pool in pools:
        await pool.drained()
        await pool.stop()
    counting.cancel()
    assert len(began) == 40
    assert len(set(began)) == 40, "others had a turn between any two"
