import uuid

import httpx
import pytest

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.scans import ScanStatus
from exporter.sandbox.world import World


async def scan(client: httpx.AsyncClient, zone_id: int) -> dict[str, object]:
    """Request a zone's latest scan."""
    answer = await client.get(f"/dnszone/{zone_id}/records/scan")
    assert answer.status_code == 200
    content: dict[str, object] = answer.json()
    return content


async def test_a_started_scan_waits_works_and_completes(
    client: httpx.AsyncClient,
    world: World,
    clock: WorldClock,
) -> None:
    world.scans.start_scan(101, seconds=120)
    seen = [(await scan(client, 101))["Status"]]
    for seconds in (29, 1, 89, 1):
        clock.advance(seconds)
        seen.append((await scan(client, 101))["Status"])
    assert seen == [0, 0, 1, 1, 2]


async def test_a_completed_scan_has_records_and_no_error(client: httpx.AsyncClient, world: World) -> None:
    world.scans.set_scan(101, ScanStatus.COMPLETED)
    done = await scan(client, 101)
    assert (done["ZoneId"], done["Domain"], done["Status"], done["Error"]) == (101, "prod-shop.example", 2, None)
    assert str(uuid.UUID(str(done["JobId"]))) == done["JobId"]
    records = done["Records"]
    assert isinstance(records, list)
    assert {record["Type"] for record in records} <= set(range(17))


async def test_a_failed_scan_has_an_error_and_no_records(
    client: httpx.AsyncClient,
    world: World,
    clock: WorldClock,
) -> None:
    world.scans.start_scan(101, fails=True, seconds=60)
    clock.advance(61)
    failed = await scan(client, 101)
    assert (failed["Status"], failed["Records"]) == (3, None)
    assert failed["Error"]
    assert failed["CompletedAt"] == "2026-02-06T12:01:00"


async def test_a_job_keeps_its_id_until_the_next_one(
    client: httpx.AsyncClient,
    world: World,
    clock: WorldClock,
) -> None:
    world.scans.start_scan(101, seconds=60)
    first = (await scan(client, 101))["JobId"]
    clock.advance(61)
    assert (await scan(client, 101))["JobId"] == first
    world.scans.start_scan(101)
    assert (await scan(client, 101))["JobId"] != first


async def test_scans_are_redone_now_and_then(client: httpx.AsyncClient, clock: WorldClock) -> None:
    first = (await scan(client, 101))["JobId"]
    clock.advance(49 * 3600)
    assert (await scan(client, 101))["JobId"] != first


def test_a_world_that_opens_shows_a_scan_in_each_state(world: World) -> None:
    seen = {world.scans.status(zone_id) for zone_id in world.dns.zones}
    assert seen == {None, *ScanStatus}


async def test_a_zone_that_was_never_scanned_is_not_found(client: httpx.AsyncClient, world: World) -> None:
    assert (await client.get("/dnszone/104/records/scan")).status_code == 404
    assert (await client.get("/dnszone/104/statistics")).status_code == 200
    world.scans.set_scan(101, None)
    assert (await client.get("/dnszone/101/records/scan")).status_code == 404
    world.scans.release_scan(101)
    assert (await client.get("/dnszone/101/records/scan")).status_code == 200


@pytest.mark.parametrize("zone_id", [101, 104])
async def test_a_scan_is_held_in_a_state(
    client: httpx.AsyncClient, world: World, clock: WorldClock, zone_id: int
) -> None:
    world.scans.set_scan(zone_id, ScanStatus.PENDING)
    clock.advance(86_400)
    held = await scan(client, zone_id)
    assert (held["Status"], held["CompletedAt"]) == (0, None)
