"""The state of an earlier version, whose rows do not say what they count: its counters continue.

`earlier/without_digests.sql` was dumped from it: a zone of each of two accounts, a script, and an endpoint's target,
whose scale was changed from 1 to 1000; rows of the accounts' addresses, a pause, a list and a script's budget.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from exporter.counters.ledger import Entry
from exporter.counters.state_file import StateFile
from exporter.counters.upgrade import upgraded
from exporter.metric import Count, DayBuckets, FamilyInfo, Kind, LabelValues, MonthToDate, Source, declaration
from exporter.targets.target import PollKey
from tests.counters.ledger_driver import LedgerDriver

DUMP = Path(__file__).parent / "earlier" / "without_digests.sql"
NOW = datetime(2026, 2, 6, 16, tzinfo=UTC)
DAY = NOW.toordinal()
MAIN, OTHER, MOVED = "https://api.example.net", "https://other.example.net", "https://moved.example.net"
ZONE, OTHERS = (
    PollKey.of("dns_statistics", account, "dns_zone", zone) for account, zone in (("main", "102"), ("other", "201"))
)
SCRIPT, THING = PollKey.of("scripts", "main", "script", "7"), PollKey.of("thing", "main", "thing", "9")

# Label values → the counter.
Served = dict[LabelValues, float]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a state file of the earlier version."""
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(DUMP.read_text(encoding="utf-8"))
    return path


def polls(driver: LedgerDriver, addresses: Mapping[str, str], scale: float = 1000.0) -> list[Served]:
    """Poll every target at the present addresses of the accounts; return the counters that are served."""

    def served(key: PollKey, family: str, sources: Mapping[LabelValues, Source], declared: bytes = b"1") -> Served:
        count = Count(FamilyInfo(family, "", Kind.COUNTER), (), tuple(sources.items()), declared)
        (counters,) = driver.record(Entry(key, "x", NOW.timestamp(), (count,), NOW, addresses[key.target.account]))
        return {sample.values: sample.value for counter in counters for sample in counter.samples}

    declared = declaration(("/things/{id}", "days", "Charts", "region", repr(scale)))
    regions: dict[LabelValues, Source] = {
        (name,): DayBuckets({DAY: count}) for name, count in (("eu", 20000), ("asia", 3500), ("us", 7000))
    }
    routed: dict[LabelValues, Source] = {
        (name,): DayBuckets({DAY: count}) for name, count in (("normal", 36), ("smart", 5), ("new", 1))
    }
    return [
        served(ZONE, "edge_dns_queries_total", {(): DayBuckets({DAY - 1: 101, DAY: 50})}),
        served(ZONE, "edge_dns_routed_queries_total", routed),
        served(OTHERS, "edge_dns_queries_total", {(): DayBuckets({DAY - 1: 101, DAY: 50})}),
        served(SCRIPT, "edge_script_cost_dollars_total", {(): MonthToDate(5.0)}),
        served(THING, "edge_thing_bytes_total", regions, declared),
    ]


QUERIES: Served = {(): 10.0}
ROUTED: Served = {("normal",): 6.0, ("smart",): 3.0, ("new",): 1.0}
COST: Served = {(): 2.5}
# A region that no answer had since the scale was changed counts from the day of that change.
REGIONS: Served = {("eu",): 4005.0, ("asia",): 3500.0, ("us",): 7000.0}


def zeros(*of: Served) -> list[Served]:
    """Return the same series, at 0."""
    return [dict.fromkeys(series, 0.0) for series in of]


@pytest.mark.parametrize(
    ("addresses", "scale", "expected"),
    [
        ({"main": MAIN, "other": OTHER}, 1000.0, [QUERIES, ROUTED, QUERIES, COST, REGIONS]),
        ({"main": MAIN, "other": MOVED}, 1000.0, [QUERIES, ROUTED, *zeros(QUERIES), COST, REGIONS]),
        ({"main": MOVED, "other": OTHER}, 1000.0, [*zeros(QUERIES, ROUTED), QUERIES, *zeros(COST, REGIONS)]),
        ({"main": MAIN, "other": OTHER}, 1.0, [QUERIES, ROUTED, QUERIES, COST, *zeros(REGIONS)]),
    ],
    ids=["as it was", "one account moved", "the other moved", "another scale"],
)
def test_the_counters_of_an_earlier_version_continue_unless_they_count_something_else_now(
    path: Path, addresses: Mapping[str, str], scale: float, expected: list[Served]
) -> None:
    with LedgerDriver(path, addresses=addresses) as driver, capture_logs():
        assert polls(driver, addresses, scale) == expected
    # The rows say it themselves now.
    with LedgerDriver(path) as driver:
        assert polls(driver, addresses, scale) == expected


def test_rows_that_are_not_needed_any_more_are_removed_and_the_others_stay(path: Path) -> None:
    with LedgerDriver(path, addresses={"main": MAIN, "other": OTHER}) as driver:
        driver.settle()
    file = StateFile(path)
    rows = dict(file.rows())
    file.close()
    assert {key.collector for key in rows} == {
        "dns_statistics",
        "scripts",
        "thing",
        "list/dns_zone",
        "script_budget",
        "platform_time",
        "",
    }
    assert list(upgraded(rows, {}, is_shared=False)) == []


def test_the_addresses_stay_where_other_exporters_may_need_them_for_their_own_rows(path: Path) -> None:
    file = StateFile(path)
    removed = {key.collector for key, row in upgraded(dict(file.rows()), {}, is_shared=True) if row is None}
    file.close()
    assert removed == {"pause", "thing:facts"}
