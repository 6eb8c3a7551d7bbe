"""A failing target never affects another: each fault, the series of the failing zone, and those of the others."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from unittest.mock import Mock, patch

import pytest
from structlog.testing import capture_logs

from exporter.platform.http.client import Client
from exporter.polling.pace import Account
from exporter.polling.schedule import NAMES_SECONDS
from tests.exporter_parts import ExporterParts, exporter_parts, only, still

WELL = "101"
ZONES = {"dns_zones": {"discover": True}, "scripts": {"discover": False}, "shield_zones": {"discover": False}}
STATISTICS = only("discovery", "dns_statistics")

ENVELOPE = '{"data": null, "error": {"success": false, "message": "It went wrong.", "errorKey": "internal.failure"}}'
# The scripted fault → the reason of the one failure that it causes.
MATRIX: Mapping[str, tuple[dict[str, object], str]] = {
    "401 without a body": ({"kind": "status", "status": 401}, "unauthorized"),
    "403": ({"kind": "status", "status": 403, "body": '{"statusCode": 403}'}, "forbidden"),
    "404": ({"kind": "status", "status": 404}, "not_found"),
    "408": ({"kind": "status", "status": 408}, "request_timeout"),
    "422 problem": ({"kind": "status", "status": 422, "body": '{"title": "no", "errors": []}'}, "rejected"),
    "429": ({"kind": "status", "status": 429}, "rate_limited"),
    "429 with seconds": ({"kind": "status", "status": 429, "retry_after": 7}, "rate_limited"),
    "500": ({"kind": "status", "status": 500, "body": "oops"}, "server_error"),
    "502": ({"kind": "status", "status": 502, "body": "<html>"}, "server_error"),
    "503 with a date": ({"kind": "status", "status": 503, "retry_after_date": 9.0}, "server_error"),
    "reset before the headers": ({"kind": "reset", "point": "start"}, "reset"),
    "reset after the headers": ({"kind": "reset", "point": "headers"}, "reset"),
    "reset in the body": ({"kind": "reset", "point": "body"}, "reset"),
    "no answer": ({"kind": "stall", "point": "start"}, "timeout"),
    "headers and no body": ({"kind": "stall", "point": "headers"}, "timeout"),
    "a body that stalls": ({"kind": "stall", "point": "body"}, "timeout"),
    "17 MiB": ({"kind": "status", "status": 200, "body": " " * 17 * 1024 * 1024}, "too_large"),
    "HTML": ({"kind": "status", "status": 200, "content_type": "text/html", "body": "<html>"}, "not_json"),
    "truncated JSON": ({"kind": "truncate"}, "not_json"),
    "garbage for a body": ({"kind": "garbage"}, "not_json"),
    "garbage for HTTP": ({"kind": "garbage", "place": "wire"}, "not_http"),
    "wrong types": ({"kind": "status", "status": 200, "body": '{"TotalQueriesServed": {}}'}, "wrong_shape"),
    "an envelope failure under 200": ({"kind": "status", "status": 200, "body": ENVELOPE}, "envelope"),
    "an envelope failure under 202": ({"kind": "status", "status": 202, "body": ENVELOPE}, "envelope"),
    "a redirect": ({"kind": "status", "status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}, "redirect"),
}


# These also affect the account, or delay the next poll.
ALONE = tuple(
    name for name, (_, reason) in MATRIX.items() if reason in {"unauthorized", "rate_limited"} or "date" in name
)
STALLS = tuple(name for name, (_, reason) in MATRIX.items() if reason == "timeout")
OTHERS = tuple(name for name in MATRIX if name not in ALONE + STALLS)
# The log has a line for each of a few targets that fail together.
GROUPS = [(name,) for name in ALONE] + [STALLS, OTHERS[::2], OTHERS[1::2]]


def true_today(parts: ExporterParts, zone: str) -> int:
    """Return the platform's true count of a zone today."""
    today = datetime.fromtimestamp(parts.world.clock.now(), UTC).date()
    return parts.world.dns.true_queries(int(zone), today)


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
async def test_a_fault_of_one_zone_is_one_failure_and_nobody_elses(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Poll all zones together: one for each fault, and one without a fault."""
    # A deadline is waited for in truth; where none passes it must not, however busy the machine is. The shorter limit
    # for connecting, which has another reason, must not pass before it.
    monkeypatch.setattr("exporter.platform.http.transport.CONNECT_SHARE", 600.0)
    patience = {"timeout": 1.0} if names == STALLS else {}
    zones = {name: str(int(WELL) + number) for number, name in enumerate(names, start=1)}
    reasons = {name: MATRIX[name][1] for name in names}
    async with exporter_parts(
        account={**ZONES, **patience}, collectors=STATISTICS, world=still(dns_zones=len(zones) + 1)
    ) as parts:

        def of_today() -> dict[str, float | None]:
            return {name: parts.value("edge_dns_day_queries", zone_id=zone) for name, zone in zones.items()}

        def assert_well() -> None:
            assert parts.value("edge_dns_day_queries", zone_id=WELL) == true_today(parts, WELL)

        def targets(event: str) -> list[tuple[str, str | None]]:
            return sorted((line["target"], line.get("reason")) for line in logs if line["event"] == event)

        async def turn(seconds: float) -> None:
            await parts.turn(seconds)
            # Some polls wait for the end of a pause: the failing zone may be polled first, and pause the operation.
            for _ in range(2):
                parts.clock.now += 30
                await parts.settle()

        before = of_today()
        assert None not in before.values()
        for name, zone in zones.items():
            parts.faults.add({"path": f"/dnszone/{zone}/statistics", **MATRIX[name][0]})
        # Both together are shorter than the lifetime of a value.
        with capture_logs() as logs:
            await turn(330)
            await turn(330)
        assert targets("target fails") == [(f"dns_zone/{zone}", reasons[name]) for name, zone in zones.items()]
        ups = parts.samples("edge_target_up", collector="dns_statistics", account="main")
        up = {target.removeprefix("dns_zone/"): value for (_, target), value in ups.items()}
        assert up == {WELL: 1.0, **dict.fromkeys(zones.values(), 0.0)}
        assert_well()
        # Its own 404 takes a zone's series away at once; any other failure leaves them until they are stale.
        assert of_today() == {name: None if reasons[name] == "not_found" else before[name] for name in names}
        failures = parts.samples("edge_api_request_failures_total", operation="dns_statistics", account="main")
        assert {reason for (reason,), count in failures.items() if count} == set(reasons.values())

        await turn(400)
        await turn(400)
        assert of_today() == dict.fromkeys(names)
        assert_well()

        parts.faults.clear()
        # Every zone is due after one and a half intervals.
        with capture_logs() as logs:
            await turn(450)
            await turn(450)
        assert targets("target recovered") == [(f"dns_zone/{zone}", None) for zone in zones.values()]
        assert of_today() == {name: true_today(parts, zone) for name, zone in zones.items()}


async def test_a_platform_that_refuses_connections_is_one_failure_a_target() -> None:
    async with exporter_parts(
        account={**ZONES, "dns_zones": {"discover": False, "ids": [101]}},
        collectors=STATISTICS,
        url="http://127.0.0.1:1",
        world=still(dns_zones=3),
    ) as parts:
        # Until then the poll waits for the zone's name, which the search would return.
        assert parts.samples("edge_target_up", collector="dns_statistics") == {}
        await parts.turn(NAMES_SECONDS)
        assert parts.samples("edge_target_up", collector="dns_statistics") == {("main", "", "dns_zone/101"): 0.0}
        refused = parts.samples("edge_api_request_failures_total", operation="dns_statistics", reason="refused")
        assert refused == {("main",): 3.0}


@pytest.mark.parametrize(("status", "is_accepted"), [(403, True), (401, False), (500, False)])
async def test_a_spare_is_ready_once_a_key_is_accepted(status: int, *, is_accepted: bool) -> None:
    fault = {"kind": "status", "status": status, "path": "/search"}
    async with exporter_parts(account=ZONES, world=still(dns_zones=3), fault=fault) as parts:
        accounts = parts.work.accounts
        accounts.entries = {**accounts.entries, "second": Mock(spec=Account)}
        trying = asyncio.create_task(accounts.try_keys())
        await asyncio.sleep(0)
        # Meanwhile, a reload removes the second account.
        accounts.entries = {"main": accounts.entries["main"]}
        assert await trying == is_accepted
        # As if no thread could be started.
        with patch.object(Client, "open_transport", side_effect=RuntimeError):
            assert not await accounts.try_keys()
