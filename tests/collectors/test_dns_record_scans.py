import json

import pytest

from exporter.collectors.dns_record_scans import COLLECTOR
from exporter.targets.target import Target
from tests.collectors.polls import assert_as_in_file, exposed, poll, samples

ZONE = Target("main", "dns_zone", "102", "example.com")
LABELS = 'account="main",domain="example.com"'


async def scan(**fields: object) -> str:
    return exposed(COLLECTOR, await poll(COLLECTOR, ZONE, json.dumps(fields)))


async def test_a_zone_that_was_never_scanned_is_no_failure() -> None:
    polled = await poll(COLLECTOR, ZONE, None)
    assert polled.outcomes[0].error is None
    assert_as_in_file(exposed(COLLECTOR, polled), "dns_record_scans_never_scanned")


@pytest.mark.parametrize(
    ("status", "state"),
    [(0, "pending"), (1, "in_progress"), (2, "completed"), (3, "failed"), (4, "unknown"), (-1, "unknown")],
)
async def test_one_state_is_1_and_the_others_are_0(status: int, state: str) -> None:
    states = ("pending", "in_progress", "completed", "failed", "unknown")
    exposition = await scan(Status=status)
    assert samples(exposition, "edge_dns_record_scan_status") == [
        f'edge_dns_record_scan_status{{{LABELS},status="{name}",zone_id="102"}} {float(name == state)}'
        for name in states
    ]


async def test_what_is_null_yields_no_sample() -> None:
    exposition = await scan(Status=None, CreatedAt=None, CompletedAt=None, Records=None, JobId=None, Error=None)
    assert [line for line in exposition.splitlines() if not line.startswith("#")] == [
        f'edge_dns_record_scan_found{{{LABELS},zone_id="102"}} 1.0'
    ]


async def test_a_scan_without_records_found_none() -> None:
    exposition = await scan(Records=[])
    assert samples(exposition, "edge_dns_record_scan_records") == []
    assert samples(exposition, "edge_dns_record_scan_proxied_records") == [
        f'edge_dns_record_scan_proxied_records{{{LABELS},zone_id="102"}} 0.0'
    ]
