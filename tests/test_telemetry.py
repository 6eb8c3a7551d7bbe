"""The program's own metrics."""

import re
from platform import python_version

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from exporter.daemon.accounts import AccountObserver
from exporter.metric import FamilyInfo, Kind
from exporter.telemetry import Telemetry


def lines(telemetry: Telemetry, *beginnings: str) -> list[str]:
    """Return the sample lines with this beginning."""
    text = generate_latest(telemetry.exposed()).decode()
    return [line for line in text.splitlines() if line.startswith(beginnings)]


def test_a_404_that_is_no_failure_is_no_authenticated_answer_either() -> None:
    observer = AccountObserver(Telemetry(CollectorRegistry(), "1"), "main", lambda: 1.0)
    observer.attempted("dns_record_scan", "404", 0.1, None)
    assert observer.authenticated is None


@pytest.mark.parametrize(
    ("then", "seconds", "is_up"),
    [
        # A call that takes its time: one and a half intervals, and what an answer may take.
        (None, 11.4, True),
        (None, 11.6, False),
        (("none", "timeout"), 3.4, True),
        (("none", "timeout"), 3.6, False),
        (("401", "unauthorized"), 3.6, False),
        (("500", "server_error"), 3.6, False),
        # What is wrong with one resource says nothing of the account.
        (("404", "not_found"), 11.4, True),
        (("200", "wrong_shape"), 11.4, True),
    ],
)
def test_an_account_is_up_for_an_interval_after_an_authenticated_answer(
    then: tuple[str, str] | None, seconds: float, *, is_up: bool
) -> None:
    now = [100.0]
    observer = AccountObserver(Telemetry(CollectorRegistry(), "1"), "main", lambda: now[0])
    assert not observer.is_up(1.0, 10.0)
    observer.attempted("search", "200", 0.1, None)
    if then is not None:
        now[0] += 1
        observer.attempted("search", then[0], 0.1, then[1])
        now[0] -= 1
    now[0] += seconds
    assert observer.is_up(1.0, 10.0) == is_up
    observer.attempted("search", "200", 0.1, None)
    now[0] += 11.4
    assert observer.is_up(1.0, 10.0)


def test_nothing_is_exposed_as_created() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    AccountObserver(telemetry, "main", lambda: 1.0).attempted("search", "200", 0.1, None)
    assert "_created" not in generate_latest(telemetry.exposed()).decode()


def test_what_may_be_worth_an_alert_begins_at_0() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    telemetry.declare_calls("main", ["search"])
    assert lines(telemetry, "edge_api_request_failures_total{")[0] == (
        'edge_api_request_failures_total{account="main",operation="search",reason="unauthorized"} 0.0'
    )
    assert lines(telemetry, "edge_api_retries") == ['edge_api_retries_total{account="main",operation="search"} 0.0']
    telemetry.declare_accounts({"main": None})
    assert lines(telemetry, "edge_api_throttled") == ['edge_api_throttled_seconds_total{account="main"} 0.0']
    telemetry.declare_counters([FamilyInfo("edge_a_total", "A.", Kind.COUNTER), FamilyInfo("edge_b", "B.", Kind.GAUGE)])
    corrections = 'edge_exporter_ledger_corrections_total{family="edge_a_total"}'
    assert lines(telemetry, "edge_exporter_ledger_corrections") == [f"{corrections} 0.0"]
    telemetry.corrected("edge_a_total", 2)
    assert lines(telemetry, "edge_exporter_ledger_corrections") == [f"{corrections} 2.0"]


def test_a_new_exporter_shows_itself_its_state_and_its_process() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1.2")
    assert lines(telemetry, "edge_exporter_build_info", "edge_exporter_ledger_up") == [
        f'edge_exporter_build_info{{python="{python_version()}",version="1.2"}} 1.0',
        "edge_exporter_ledger_up 1.0",
    ]
    assert all(lines(telemetry, one) for one in ("process_open_fds", "python_info", "python_gc_collections_total"))


def test_it_shows_the_state_and_the_shards_as_they_are_now() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    telemetry.wrote("the disk is full")
    assert lines(telemetry, "edge_exporter_ledger_up") == ["edge_exporter_ledger_up 0.0"]
    telemetry.wrote("")
    telemetry.set_aside(5.0)
    for shard, held in ((1, {0: True, 2: True}), (2, {1: False, 2: True})):
        telemetry.show_shard(shard, 3)
        telemetry.show_held(held)
    assert telemetry.set_aside_at == 5.0
    shown = ("ledger_up", "ledger_set_aside", "shard_info", "shard_held")
    assert lines(telemetry, *(f"edge_exporter_{name}" for name in shown)) == [
        'edge_exporter_shard_info{shard="2",shards="3"} 1.0',
        'edge_exporter_shard_held{shard="1"} 0.0',
        'edge_exporter_shard_held{shard="2"} 1.0',
        "edge_exporter_ledger_up 1.0",
        "edge_exporter_ledger_set_aside_timestamp_seconds 5.0",
    ]


def test_units_are_those_of_the_names_and_calls_have_longer_buckets() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    units = {info.name: info.unit for info in telemetry.families()}
    assert {unit for name, unit in units.items() if name.removesuffix("_total").endswith("_seconds")} == {"seconds"}
    assert [name for name, unit in units.items() if unit == "dollars"] == ["edge_script_monthly_budget_dollars"]
    telemetry.declare_calls("main", ["search"])
    for family, expected in (
        ("edge_api_request_duration_seconds", (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)),
        ("edge_exporter_loop_lag_seconds", (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)),
    ):
        found = [re.findall('le="(.*?)"', line)[0] for line in lines(telemetry, f"{family}_bucket")]
        assert found == [*(str(float(bound)) for bound in expected), "+Inf"]


def test_an_account_is_up_or_down_at_the_exporter_that_reports_it_now() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    telemetry.declare_ups({"main": lambda: True, "other": None})
    assert lines(telemetry, "edge_up{") == ['edge_up{account="main"} 1.0']
    telemetry.declare_ups({"main": None, "other": lambda: False})
    assert lines(telemetry, "edge_up{") == ['edge_up{account="other"} 0.0']
