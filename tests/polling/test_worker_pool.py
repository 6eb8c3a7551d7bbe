"""One account's queue and its workers."""

import asyncio
from typing import cast

from exporter.collectors.collector import Collector
from exporter.polling.worker_pool import Lane, Run
from exporter.targets.target import Target


class Named:
    """Stands for a collector: a lane looks at its name alone."""

    def __init__(self, name: str) -> None:
        self.name = name


def run(number: int, name: str = "dns_statistics", until: float = 0.0) -> Run:
    """A poll of a zone."""
    return Run(cast("Collector", Named(name)), Target("main", "dns_zone", str(number)), until)


async def test_no_more_polls_are_under_way_than_there_are_workers() -> None:
    under_way, most = 0, 0
    gate = asyncio.Event()

    async def poll(_run: Run) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await gate.wait()
        under_way -= 1

    lane = Lane(3, poll)
    lane.start()
    for number in range(10):
        assert lane.offer(run(number))
    for _ in range(20):
        await asyncio.sleep(0)
    assert under_way == 3
    gate.set()
    await lane.drained()
    await lane.stop()
    assert most == 3


async def test_a_target_is_queued_once_for_a_collector_and_apart_for_another() -> None:
    polled: list[tuple[str, str]] = []

    async def poll(due: Run) -> None:
        polled.append((due.collector.name, due.target.id))

    lane = Lane(1, poll)
    assert [lane.offer(run(1)), lane.offer(run(1)), lane.offer(run(1, "dns_record_scans"))] == [True, False, True]
    lane.start()
    await lane.drained()
    assert polled == [("dns_statistics", "1"), ("dns_record_scans", "1")]
    assert lane.offer(run(1)), "a poll that has ended may come again"
    await lane.stop()


async def test_targets_with_short_intervals_do_not_wait_behind_the_first_polls_of_many_new_ones() -> None:
    polled: list[str] = []

    async def poll(due: Run) -> None:
        polled.append(due.target.id)

    lane = Lane(1, poll)
    for number in range(100, 1000):
        lane.offer(run(number, "dns_record_scans", until=600.0 + number))
    lane.offer(run(2, until=70.0))
    lane.offer(run(1, until=60.0))
    lane.start()
    await lane.drained()
    await lane.stop()
    assert polled == [str(number) for number in (1, 2, *range(100, 1000))]


async def test_stopping_ends_polls_under_way_and_forgets_those_that_wait() -> None:
    async def poll(_run: Run) -> None:
        await asyncio.Event().wait()

    lane = Lane(1, poll)
    lane.start()
    lane.offer(run(1))
    lane.offer(run(2))
    await asyncio.sleep(0)
    await lane.stop()
    assert lane.busy == set()
    await lane.drained()


async def test_workers_begin_one_after_another_whatever_comes_due_at_once() -> None:
    passes = 0
    began: list[int] = []

    async def count() -> None:
        nonlocal passes
        while True:
            passes += 1
            await asyncio.sleep(0)

    async def poll(_run: Run) -> None:
        began.append(passes)

    counting = asyncio.create_task(count())
    starts = asyncio.Lock()
    lanes = [Lane(8, poll, starts), Lane(8, poll, starts)]
    for lane in lanes:
        lane.start()
        for number in range(20):
            lane.offer(run(number))
    for lane in lanes:
        await lane.drained()
        await lane.stop()
    counting.cancel()
    assert len(began) == 40
    assert len(set(began)) == 40, "others had a turn between any two"
