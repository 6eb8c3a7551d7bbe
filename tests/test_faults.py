"""A failing target never harms another: each fault, what the failing zone shows, and what the others show."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.world import World
from tests.rig import START, Rig, rig

FAILING, WELL = "102", "101"
PATH = f"/dnszone/{FAILING}/statistics"
ZONES = {"dns_zones": {"discover": True}, "scripts": {"discover": False}, "shield_zones": {"discover": False}}

# The fault, as it is scripted → the reason under which it is one failure.
MATRIX: Mapping[str, tuple[dict[str, object], str]] = {
    "401 without a body": ({"kind": "status", "status": 401}, "unauthorized"),
    "403": ({"kind": "status", "status": 403, "body": '{"statusCode": 403}'}, "forbidden"),
    "404": ({"kind": "status", "status": 404}, "not_found"),
    "408": ({"kind": "status", "status": 408}, "request_timeout"),
    "409": ({"kind": "status", "status": 409}, "rejected"),
    "422 problem": ({"kind": "status", "status": 422, "body": '{"title": "no", "errors": []}'}, "rejected"),
    "429": ({"kind": "status", "status": 429}, "rate_limited"),
    "429 with seconds": ({"kind": "status", "status": 429, "retry_after": 7}, "rate_limited"),
    "429 with a date": ({"kind": "status", "status": 429, "retry_after_date": 7.0}, "rate_limited"),
    "500": ({"kind": "status", "status": 500, "body": "oops"}, "server_error"),
    "502": ({"kind": "status", "status": 502, "body": "<html>"}, "server_error"),
    "503 with a date": ({"kind": "status", "status": 503, "retry_after_date": 9.0}, "server_error"),
    "reset before the headers": ({"kind": "reset", "point": "start"}, "reset"),
    "reset after the headers": ({"kind": "reset", "point": "headers"}, "reset"),
    "reset in the body": ({"kind": "reset", "point": "body"}, "reset"),
    "no answer": ({"kind": "stall", "point": "start"}, "timeout"),
    "headers and no body": ({"kind": "stall", "point": "headers"}, "timeout"),
    "a body that stalls": ({"kind": "stall", "point": "body"}, "timeout"),
    "a body that drips": ({"kind": "drip", "seconds": 1.0}, "timeout"),
    "17 MiB": ({"kind": "oversize"}, "too_large"),
    "17 MiB unannounced": ({"kind": "oversize", "announced": False}, "too_large"),
    "HTML": ({"kind": "html"}, "not_json"),
    "truncated JSON": ({"kind": "truncate"}, "not_json"),
    "a body shorter than announced": ({"kind": "short"}, "reset"),
    "garbage for a body": ({"kind": "garbage"}, "not_json"),
    "garbage for HTTP": ({"kind": "garbage", "place": "wire"}, "not_http"),
    "wrong types": ({"kind": "wrong_types"}, "wrong_shape"),
    "an envelope failure under 200": ({"kind": "envelope", "status": 200}, "envelope"),
    "an envelope failure under 202": ({"kind": "envelope", "status": 202}, "envelope"),
    "a redirect": ({"kind": "redirect", "location": "http://127.0.0.1:1/elsewhere"}, "redirect"),
}


def small_world() -> World:
    """Three zones, at a fixed time that stands still."""
    return World(seed=1, clock=WorldClock(START, speed=0), dns_zones=3)


def true_today(rigged: Rig, zone: str) -> int:
    """What the platform has truly counted of a zone today."""
    today = datetime.fromtimestamp(rigged.world.clock.now(), UTC).date()
    return rigged.world.dns.true_queries(int(zone), today)


def up(rigged: Rig, zone: str) -> float | None:
    """`edge_target_up` of a zone's statistics."""
    return rigged.value("edge_target_up", collector="dns_statistics", target=f"dns_zone/{zone}")


@pytest.mark.parametrize(("fault", "reason"), MATRIX.values(), ids=MATRIX.keys())
async def test_a_fault_of_one_zone_is_one_failure_and_nobody_elses(fault: dict[str, object], reason: str) -> None:
    # A deadline is waited for in truth; where none passes it must not, however busy the machine is.
    patience = {"timeout": 1.0} if reason == "timeout" else {}
    async with rig(account={**ZONES, **patience}, world=small_world()) as rigged:
        before = rigged.value("edge_dns_day_queries", zone_id=FAILING)
        assert before is not None
        rigged.faults.add({"path": PATH, **fault})
        with capture_logs() as logs:
            await rigged.turn(400)
            await rigged.turn(400)
        told = [(line["target"], line["reason"]) for line in logs if line["event"] == "target fails"]
        assert told == [(f"dns_zone/{FAILING}", reason)]
        assert (up(rigged, FAILING), up(rigged, WELL)) == (0.0, 1.0)
        assert rigged.value("edge_dns_day_queries", zone_id=WELL) == true_today(rigged, WELL)
        # Its own 404 takes a zone's series away at once; any other failure leaves them until they are stale.
        assert rigged.value("edge_dns_day_queries", zone_id=FAILING) == (None if reason == "not_found" else before)
        failures = rigged.samples("edge_api_request_failures_total", operation="dns_statistics", reason=reason)
        assert [count > 0 for count in failures.values()] == [True]

        await rigged.turn(400)
        await rigged.turn(400)
        assert rigged.value("edge_dns_day_queries", zone_id=FAILING) is None
        assert rigged.value("edge_dns_day_queries", zone_id=WELL) == true_today(rigged, WELL)

        rigged.faults.clear()
        with capture_logs() as logs:
            await rigged.turn(400)
            await rigged.turn(400)
        recovered = [line["target"] for line in logs if line["event"] == "target recovered"]
        assert recovered == [f"dns_zone/{FAILING}"]
        assert rigged.value("edge_dns_day_queries", zone_id=FAILING) == true_today(rigged, FAILING)


async def test_a_platform_that_refuses_connections_is_one_failure_a_target() -> None:
    async with rig(
        account={**ZONES, "dns_zones": {"discover": False, "ids": [101]}}, url="http://127.0.0.1:1", world=small_world()
    ) as rigged:
        assert rigged.samples("edge_target_up", collector="dns_statistics") == {("main", "", "dns_zone/101"): 0.0}
        refused = rigged.samples("edge_api_request_failures_total", operation="dns_statistics", reason="refused")
        assert refused == {("main",): 3.0}


async def test_a_wrong_key_makes_no_target_look_well_and_is_no_authenticated_answer() -> None:
    async with rig(account={**ZONES, "api_key": "wrong"}, world=small_world()) as rigged:
        assert rigged.observers["main"].authenticated is None
        assert set(rigged.samples("edge_target_up").values()) == {0.0}
        assert rigged.samples("edge_dns_window_queries") == {}
