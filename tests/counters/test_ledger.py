import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pytest
from structlog.testing import capture_logs

from exporter.counters.ledger import Counters, Ledger, PollRecord
from exporter.counters.rows import StateRow
from exporter.counters.storage import Changes, StateLockedError
from exporter.metric import Count, DayBuckets, Family, FamilyInfo, Kind, LastChange, Sample, declaration
from exporter.targets.target import PollKey
from tests.counters.ledger_driver import (
    DAY_0,
    FIRST_SIGHT,
    QUERIES,
    URL,
    WALL,
    LedgerDriver,
    file_storage,
    key_of,
    poll_of,
    today,
    write_rows,
)
from tests.waiting import PATIENCE

ROUTED = FamilyInfo("edge_dns_routed_queries_total", "Queries.", Kind.COUNTER, "", ("account", "zone_id", "routing"))


def test_a_renamed_target_goes_on_under_its_new_name_after_a_restart(path: Path) -> None:
    with LedgerDriver(path) as driver:
        (families,) = driver.record(poll_of("102", today(40)))
        assert families == (Family(QUERIES, (Sample(("main", "102", "shop.example"), 0.0),)),)
    with LedgerDriver(path) as driver:
        assert driver.ledger.remembered()[key_of("102")].name == "shop.example"
        (families,) = driver.record(poll_of("102", today(50), FIRST_SIGHT + timedelta(hours=5), name="store.example"))
        assert families[0].samples == (Sample(("main", "102", "store.example"), 10.0),)


def test_a_time_of_the_platform_that_was_believed_is_believed_after_a_restart(path: Path) -> None:
    ahead = FIRST_SIGHT + timedelta(days=800)
    for believed in ([FIRST_SIGHT, FIRST_SIGHT, ahead], [ahead, ahead, ahead]):
        with LedgerDriver(path) as driver:
            assert [driver.ledger.platform_time("main").update(ahead) for _ in range(3)] == believed
            driver.poll(40)


def test_a_collector_may_have_the_name_of_the_rows_with_platform_times(path: Path) -> None:
    poll = poll_of("102", today(40))._replace(key=PollKey.of("platform_time", "main", "thing", "1"))
    with LedgerDriver(path) as driver:
        driver.record(poll)
    with LedgerDriver(path) as driver:
        assert poll.key in driver.ledger.remembered()


def test_a_change_has_the_time_of_this_machine_s_clock_from_the_first_poll_on(path: Path) -> None:
    with LedgerDriver(path) as driver:
        for mark in (1.0, 1.0, 2.0):
            (families,) = driver.record(poll_of("102", {(): LastChange(mark)}, FIRST_SIGHT + timedelta(hours=1)))
            assert families[0].samples[0].value == WALL


def test_closing_commits_what_waits_and_frees_the_file(path: Path) -> None:
    with LedgerDriver(path, linger=1.0) as driver:
        driver.begin(poll_of("102", today(40)))
        with pytest.raises(StateLockedError, match=r"state.db: another exporter is using"), LedgerDriver(path):
            pass
        assert driver.ledger.is_alive()
    assert not driver.ledger.is_alive()
    with LedgerDriver(path) as driver:
        assert key_of("102") in driver.ledger.remembered()


def test_an_entry_that_cannot_be_counted_fails_its_own_poll_alone(path: Path) -> None:
    broken = poll_of("103", {(): cast("DayBuckets", object())})
    with LedgerDriver(path, linger=0.3) as driver:
        outcomes = driver.attempt(poll_of("102", today(40)), broken, poll_of("104", today(40)))
        assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, True, False]
        assert set(driver.ledger.remembered()) == {key_of("102"), key_of("104")}


def test_a_row_that_is_forgotten_begins_anew_and_is_gone_after_a_restart(path: Path) -> None:
    with LedgerDriver(path) as driver:
        driver.poll(40)
        driver.ledger.delete([key_of("102"), key_of("never seen")])
        driver.settle()
        assert key_of("102") not in driver.ledger.remembered()
        assert driver.poll(50) == 0
        driver.ledger.delete([key_of("102")])
    with LedgerDriver(path) as driver:
        assert key_of("102") not in driver.ledger.remembered()


def test_a_target_that_comes_back_as_it_is_forgotten_goes_on(path: Path) -> None:
    with LedgerDriver(path, linger=0.3) as driver:
        driver.poll(40)
        driver.ledger.delete([key_of("102")])
        assert driver.poll(45) == 5
        driver.begin(poll_of("102", today(46)))
        driver.ledger.delete([key_of("102")])
        driver.settle()
        assert driver.poll(47) == 7


def test_a_row_that_cannot_be_read_begins_anew_and_is_logged(path: Path) -> None:
    write_rows(path, {key_of("102"): StateRow("shop.example", WALL, b"\xc1")})
    with LedgerDriver(path) as driver:
        with capture_logs() as logs:
            assert driver.poll(45) == 0
        assert [(line["event"], line["target"]) for line in logs] == [
            ("row of a target is damaged, the counters in it start again at 0", "dns_zone/102")
        ]


REGIONS = FamilyInfo("edge_thing_bytes_total", "Bytes.", Kind.COUNTER, "", ("account", "zone_id", "domain", "region"))


def test_a_counter_that_counts_something_else_is_logged_once_for_an_account(path: Path) -> None:
    def poll(scale: float, account: str, zone: str) -> None:
        declared = declaration(("/p", "days", "C", "region", repr(scale)))
        counts = (Count(REGIONS, (account, zone, "x"), ((("eu",), DayBuckets({DAY_0: 40})),), declared),)
        key = PollKey.of("dns_statistics", account, "dns_zone", zone)
        driver.record(PollRecord(key, "x", WALL, counts, FIRST_SIGHT, URL))

    with LedgerDriver(path) as driver, capture_logs() as logs:
        for scale in (1.0, 1000.0, 1000.0):
            for account, zone in (("main", "102"), ("main", "103"), ("other", "102")):
                poll(scale, account, zone)
        assert [(line["event"], line["account"], line["family"], line["log_level"]) for line in logs] == [
            ("counter starts again at 0, it counts something else than before", account, REGIONS.name, "warning")
            for account in ("main", "other")
        ]


async def test_polls_that_end_together_are_committed_together_and_continue_in_order(path: Path) -> None:
    zones = [str(zone) for zone in range(500)]
    continued: list[str] = []
    later: list[asyncio.Task[Counters]] = []

    async def poll(ledger: Ledger, zone: str) -> None:
        await ledger.record(poll_of(zone, today(1)))
        continued.append(zone)

    async def commit(changes: Changes) -> None:
        if not later:
            later.append(asyncio.create_task(ledger.record(poll_of("0", today(3)))))
            await asyncio.sleep(0)
        await write(changes)

    storage, loop = file_storage(path), asyncio.get_running_loop()
    ledger, write, call_later = Ledger(storage, linger=0.1), storage.commit, loop.call_later
    timers: list[asyncio.TimerHandle] = []

    def begin_timer(*args: Any) -> asyncio.TimerHandle:
        timers.append(call_later(*args))
        return timers[-1]

    await ledger.open()
    with patch.object(storage, "commit", commit), patch.object(loop, "call_later", begin_timer):
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(poll(ledger, zone) for zone in zones))
            assert not later[0].done(), "what was recorded during a commit waits for the next"
            (family,) = (await later[0]).families
    await ledger.close()
    assert (continued, family.samples[0].value) == (zones, 2.0)
    assert all(one.cancelled() for one in timers), "no timer takes an attempt that has ended for a slow one"
