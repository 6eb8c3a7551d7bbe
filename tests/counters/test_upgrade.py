"""The state of an earlier version, whose rows do not say what they count: its counters continue.

`earlier/without_digests.sql` was dumped from it: a zone of each of two accounts, a script, and an endpoint's target;
rows of the accounts' addresses, a pause, a list and a script's budget.
"""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from exporter.counters.ledger import PollRecord
from exporter.metric import Count, DayBuckets, FamilyInfo, Kind, LabelValues, MonthToDate, Source
from exporter.targets.target import PollKey
from tests.counters.ledger_driver import LedgerDriver

DUMP = Path(__file__).parent / "earlier" / "without_digests.sql"
NOW = datetime(2026, 2, 6, 16, tzinfo=UTC)
DAY = NOW.toordinal()
ZONE, OTHERS = (
    PollKey.of("dns_statistics", account, "dns_zone", zone) for account, zone in (("main", "102"), ("other", "201"))
)
SCRIPT, THING = PollKey.of("scripts", "main", "script", "7"), PollKey.of("thing", "main", "thing", "9")
QUERIES: dict[LabelValues, Source] = {(): DayBuckets({DAY - 1: 101, DAY: 50})}
ROUTED: dict[LabelValues, Source] = {
    (name,): DayBuckets({DAY: count}) for name, count in (("normal", 36), ("smart", 5), ("new", 1))
}


def served(driver: LedgerDriver, key: PollKey, family: str, sources: dict[LabelValues, Source]) -> list[float]:
    """Poll a target; return its counters."""
    count = Count(FamilyInfo(family, "", Kind.COUNTER), (), tuple(sources.items()), b"1")
    (counters,) = driver.record(PollRecord(key, "x", NOW.timestamp(), (count,), NOW, "https://api.example.net"))
    return [sample.value for counter in counters for sample in counter.samples]


def test_the_counters_of_an_earlier_version_continue(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(DUMP.read_text(encoding="utf-8"))
    # At the second start, the rows have the present form.
    for _ in range(2):
        with LedgerDriver(path) as driver:
            assert served(driver, ZONE, "edge_dns_queries_total", QUERIES) == [10]
            assert served(driver, ZONE, "edge_dns_routed_queries_total", ROUTED) == [6, 3, 1]
            assert served(driver, OTHERS, "edge_dns_queries_total", QUERIES) == [10]
            assert served(driver, SCRIPT, "edge_script_cost_dollars_total", {(): MonthToDate(5.0)}) == [2.5]
            assert served(driver, THING, "edge_thing_bytes_total", {("eu",): DayBuckets({DAY: 20000})}) == [4005]
