"""The exporter as a process, on a platform with some wrong answers: the values on `/metrics`."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.counters.process import ROOT, Exporter
from tests.waiting import wait_until

SCRIPT, LIMIT = "/compute/script/7", "/shield/metrics/rate-limit/55"
MONTH, REQUESTS = "edge_script_monthly_requests", "edge_script_requests_total"
BREACHES, TODAY = "edge_shield_rate_limit_breaches_total", "edge_shield_rate_limit_day_breaches"
LOST = "edge_exporter_ledger_set_aside_timestamp_seconds"
NOW = datetime.now(UTC)
Answer = Mapping[str, Any]
Start = Callable[[Mapping[str, Sequence[Answer]]], Exporter]


def script(requests: int, date: datetime = NOW) -> Answer:
    """Return a script's answer."""
    body = {"Id": 7, "Name": "router", "MonthlyRequestCount": requests, "MonthlyCost": None, "MonthlyCpuTime": None}
    return {"body": body, "date": format_datetime(date, usegmt=True)}


def limit(today: int | tuple[int, int, int]) -> Answer:
    """Return a rate limit's answer: breaches of today as a plain number, or by action."""
    if isinstance(today, tuple):
        names = ("loggedBreaches", "challengedBreaches", "blockedBreaches")
        day: object = {"totalBreaches": sum(today)} | dict(zip(names, today, strict=True))
    else:
        day = today
    data = {"overview": None, "ratelimitOverviewPastTwentyEightDays": {f"{NOW:%d-%m-%Y}": day}}
    return {"body": {"data": data, "error": None}, "date": format_datetime(NOW, usegmt=True)}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a platform with these answers, and an exporter that polls it every second."""
    running: list[subprocess.Popen[str]] = []

    def begin(answers: Mapping[str, Sequence[Answer]]) -> Exporter:
        platform = subprocess.Popen(
            [sys.executable, "-m", "tests.counters.scripted"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        running.append(platform)
        assert platform.stdin is not None
        assert platform.stdout is not None
        platform.stdin.write(json.dumps(answers) + "\n")
        platform.stdin.flush()
        account = {
            "name": "main",
            "base_url": platform.stdout.readline().strip(),
            "api_key": "key-0",
            "dns_zones": {"discover": False},
            "scripts": {"discover": False, "ids": [7] if SCRIPT in answers else []},
            "shield_zones": {"discover": False},
            "rate_limits": [{"id": 55, "name": "login", "shield_zone_id": 3}] if LIMIT in answers else [],
        }
        return Exporter(
            {
                "accounts": [account],
                "web": {"listen": "127.0.0.1:0"},
                "state": {"path": str(tmp_path / "state.db")},
                "collectors": {"scripts": {"interval": "1s"}, "shield_rate_limits": {"interval": "1s"}},
            },
            tmp_path,
        )

    yield begin
    for platform in running:
        platform.kill()
        platform.communicate()


def until(exporter: Exporter, family: str, label: str, values: Mapping[str, float]) -> None:
    """Wait until a family has these values."""
    wait_until(lambda: exporter.samples(family, label) == values, f"{family} of {values}")


def counted(start: Start, *answers: Answer) -> tuple[float, float]:
    """Return the counted requests of a script after its last answer, and the number of corrections."""
    exporter = start({SCRIPT: answers})
    try:
        until(exporter, MONTH, "script_id", {"7": float(answers[-1]["body"]["MonthlyRequestCount"])})
        corrections = exporter.samples("edge_exporter_ledger_corrections_total", "family")
        return exporter.samples(REQUESTS, "script_id")["7"], corrections[REQUESTS]
    finally:
        assert exporter.end() == 0


def test_one_zero_in_the_middle_of_a_month_counts_nothing(start: Start) -> None:
    assert counted(start, script(1000), script(1010), script(0), script(1020)) == (20, 1)


def test_one_answer_that_is_dated_years_ahead_counts_what_rose(start: Start) -> None:
    ahead = NOW + timedelta(days=500)
    assert counted(start, script(1000), script(1001, ahead), script(1002)) == (2, 0)


def test_a_platform_that_is_years_ahead_for_a_while_counts_what_rose(start: Start) -> None:
    """The new time is accepted after three answers that agree, and so is the right one afterwards."""
    ahead = NOW + timedelta(days=500)
    wrong = [script(1000 + number, ahead) for number in range(1, 6)]
    assert counted(start, script(1000), *wrong, script(1006)) == (6, 0)


def test_an_old_months_value_after_the_reset_counts_nothing(start: Start) -> None:
    """The platform's clock is months ahead, and is accepted after three answers."""
    old = datetime(NOW.year + 1, 2, 28, 23, 50, tzinfo=UTC)
    new = old + timedelta(minutes=15)
    before = [script(1000, old)] * 4
    assert counted(start, *before, script(2, new), script(1000, new), script(1001, new), script(5, new)) == (5, 0)


def test_a_map_that_changes_its_shape_loses_and_doubles_nothing(start: Start) -> None:
    exporter = start({LIMIT: [limit((5, 3, 2)), limit(12), limit((6, 3, 4)), limit(15)]})
    try:
        until(exporter, TODAY, "action", {"unclassified": 15.0})
        served = exporter.samples(BREACHES, "action")
    finally:
        assert exporter.end() == 0
    assert set(served) == {"logged", "challenged", "blocked", "unclassified"}
    assert sum(served.values()) == 5


def test_a_rate_limit_whose_days_are_plain_numbers_is_counted(start: Start) -> None:
    exporter = start({LIMIT: [limit(0), limit(3200)]})
    try:
        until(exporter, TODAY, "action", {"unclassified": 3200.0})
        assert exporter.samples(BREACHES, "action") == {"unclassified": 3200.0}
    finally:
        assert exporter.end() == 0


@pytest.mark.parametrize("lost", ["other", "journal"])
def test_state_that_was_lost_is_reported(start: Start, tmp_path: Path, lost: str) -> None:
    answers = {SCRIPT: [script(1000), script(1007)]}
    state = tmp_path / "state.db"
    exporter = start(answers)
    until(exporter, REQUESTS, "script_id", {"7": 7.0})
    exporter.end(signal.SIGKILL if lost == "journal" else signal.SIGTERM)
    if lost == "journal":
        state.with_name("state.db-wal").unlink()
    else:
        state.write_bytes(b"not a database\n" * 1000)
    again = start(answers)
    try:
        until(again, REQUESTS, "script_id", {"7": 7.0})
        event = "state file has lost its journal, counters continue from an older state"
        assert (event if lost == "journal" else "state file put aside") in again.events
        asides = list(tmp_path.glob("state.db.corrupt-*"))
        assert len(asides) == (0 if lost == "journal" else 1)
        with urllib.request.urlopen(f"{again.url}/metrics?name[]={LOST}") as answer:  # noqa: S310 - on the loopback
            (line,) = [line for line in answer.read().decode().splitlines() if line.startswith(LOST)]
        assert float(line.split()[1]) >= NOW.timestamp() - 1
    finally:
        assert again.end() == 0
