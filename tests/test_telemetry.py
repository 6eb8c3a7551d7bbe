"""The program's own metrics."""

import re
from platform import python_version

from prometheus_client import CollectorRegistry

from exporter import __version__
from exporter.daemon.accounts import AccountObserver
from exporter.exposition.exposition import Format
from exporter.telemetry import Telemetry
from tests.exporter_parts import exporter_parts, only, still
from tests.turned_clock import TurnedClock


def test_an_account_is_up_for_an_interval_after_an_authenticated_answer() -> None:
    clock = TurnedClock(100.0)
    called = AccountObserver(Telemetry(CollectorRegistry(), "1"), "main", clock)
    # A 404 that is not a failure does not count as an authenticated answer.
    called.attempted("dns_record_scan", "404", 0.1, None)
    assert not called.is_up(1.0, 10.0)
    called.attempted("search", "200", 0.1, None)
    called.attempted("search", "401", 0.1, "unauthorized")
    # A slow call: one and a half intervals, plus the time limit of an answer.
    for seconds, is_up in ((11.4, True), (0.2, False)):
        clock.now += seconds
        assert called.is_up(1.0, 10.0) == is_up


async def test_a_new_exporter_shows_its_state_and_its_process_and_what_may_be_worth_an_alert_begins_at_0() -> None:
    async with exporter_parts(collectors=only("discovery", "dns_statistics")) as parts:
        text = parts.text()
        openmetrics = b"".join(parts.renderer.current.bodies[Format.OPENMETRICS].plain()).decode()
    call = 'account="main",operation="search"'
    expected = {
        f'edge_api_request_failures_total{{{call},reason="unauthorized"}} 0.0',
        f"edge_api_retries_total{{{call}}} 0.0",
        f'edge_exporter_build_info{{python="{python_version()}",version="{__version__}"}} 1.0',
        'edge_exporter_clock_offset_seconds{account="main"} 0.0',
        'edge_up{account="main"} 1.0',
        'edge_exporter_ledger_corrections_total{family="edge_dns_queries_total"} 0.0',
        "edge_exporter_ledger_set_aside_timestamp_seconds 0.0",
        "edge_exporter_ledger_up 1.0",
        'edge_exporter_shard_held{shard="0"} 1.0',
        'edge_exporter_shard_info{shard="0",shards="1"} 1.0',
    }
    assert expected - set(text.splitlines()) == set()
    own = ("process_open_fds ", "python_info{", "python_gc_collections_total{", "edge_api_throttled_seconds_total{")
    assert [name for name in own if f"\n{name}" not in text] == []
    assert "_created" not in text
    corrected = set(re.findall(r'^edge_exporter_ledger_corrections_total\{family="(\w+)"', text, re.MULTILINE))
    assert corrected == {"edge_dns_queries_total", "edge_dns_routed_queries_total"}, "other families are no counters"
    assert "# UNIT edge_api_throttled_seconds seconds\n" in openmetrics
    families = re.findall("^# TYPE (edge_dns|edge_api|edge_exporter)_", text, re.MULTILINE)
    assert families == sorted(families, key=lambda name: name != "edge_dns"), "its own come last"


async def test_requests_failures_retries_and_unexpected_values_of_calls_are_counted() -> None:
    scans = only("discovery", "dns_record_scans")
    async with exporter_parts(collectors=scans, world=still(dns_zones=3)) as parts:
        for zone, fault in (
            (101, {"status": 500, "times": 1}),
            (
                102,
                {"status": 200, "body": '{"Status": 9, "Records": [{"Type": 99}]}', "content_type": "application/json"},
            ),
            (103, {"status": 403}),
        ):
            parts.faults.add({"kind": "status", "path_regex": f"/dnszone/{zone}/.*", **fault})
        await parts.turn(900)
        lines = [
            line for line in parts.text().splitlines() if line.startswith("edge_api_") and "dns_record_scan" in line
        ]
    ours = re.compile('account="main"|,|operation="dns_record_scan"')
    found = {ours.sub("", line).removeprefix("edge_api_") for line in lines if not line.endswith(" 0.0")}
    assert {line for line in found if "_duration_" not in line} == {
        *('requests_total{code="200"} 5.0', 'requests_total{code="500"} 1.0', 'requests_total{code="403"} 1.0'),
        *('request_failures_total{reason="forbidden"} 1.0', 'request_failures_total{reason="server_error"} 1.0'),
        *('unexpected_values_total{field="Status"} 1.0', 'unexpected_values_total{field="Records.Type"} 1.0'),
        "retries_total{} 1.0",
    }
