import json
import shlex
from typing import Any

import httpx
import pytest

from exporter.sandbox.keys import DATABASE_TOKEN_FULL, DATABASE_TOKEN_READ_ONLY
from exporter.sandbox.world import World


async def test_the_clock_is_read_advanced_and_sped_up(client: httpx.AsyncClient, world: World) -> None:
    assert (await client.get("/sandbox/clock")).json() == {
        "now": "2026-02-06T12:00:00+00:00",
        "unix": 1_770_379_200.0,
        "speed": 0.0,
    }
    turned = (await client.post("/sandbox/clock", json={"advance": 86_400})).json()
    assert (turned["now"], world.clock.now()) == ("2026-02-07T12:00:00+00:00", 1_770_465_600.0)
    assert (await client.post("/sandbox/clock", json={"speed": 60})).json()["speed"] == 60.0


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"advance": "1"},
        {"advance": True},
        {"advance": 1e300},
        {"speed": -1},
        {"speed": 1e9},
        {"advance": 1, "stop": True},
        {"advance": 1, "speed": -1},
    ],
)
async def test_an_invalid_change_of_the_clock_changes_nothing(
    client: httpx.AsyncClient,
    world: World,
    sent: dict[str, object],
) -> None:
    answer = await client.post("/sandbox/clock", json=sent)
    assert (answer.status_code, len(answer.json()["reasons"])) == (400, 1)
    assert (world.clock.now(), world.clock.speed) == (1_770_379_200.0, 0.0)


@pytest.mark.parametrize("path", ["/sandbox/clock", "/sandbox/world", "/sandbox/tokens", "/sandbox/faults"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
async def test_a_body_that_is_no_object_is_refused(client: httpx.AsyncClient, path: str, content: bytes) -> None:
    answer = await client.post(path, content=content)
    assert (answer.status_code, list(answer.json())) == (400, ["reasons"])


async def test_the_summary_of_the_world_has_ids_and_names(client: httpx.AsyncClient, world: World) -> None:
    summary = (await client.get("/sandbox/world")).json()
    assert summary["dns_zones"]["total"] == 12
    assert summary["dns_zones"]["first"][0] == {"id": 101, "name": "prod-shop.example"}
    assert summary["scripts"]["first"][0] == {"id": 7, "name": "router"}
    assert {"id": 7, "name": "login", "shield_zone_id": 3} in summary["rate_limits"]
    assert {(one["shield_zone_id"], one["id"]) for one in summary["access_lists"]} == set(world.access_list_ids())
    assert [one["id"] for one in summary["waf_custom_rules"]] == world.custom_rule_ids()
    assert {one["name"] for one in summary["images"]} == {"nginx", "orders-api", "image-worker"}
    assert summary["databases"] == ["orders", "billing"]
    assert summary["events"]["scan_failed"] == {
        "does": "Hold a zone's scan in Failed.",
        "parameters": {"zone_id": "int"},
    }


async def test_events_describe_their_parameters(client: httpx.AsyncClient) -> None:
    events = (await client.get("/sandbox/world")).json()["events"]
    assert events["dns_chart"]["parameters"] == {
        "zone_id": "int",
        "chart": "'queries' | 'normal' | 'smart' | 'record_types'",
        "shape": "'full' | 'empty' | 'null'",
    }
    assert events["dns_queries"]["parameters"]["day"] == "date (YYYY-MM-DD) | None = None"
    assert "exporter." not in json.dumps(events)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"event": "scan_failed", "zone_id": 1}, "there is no DNS zone 1"),
        ({"event": "dns_volume", "zone_id": 1, "queries_a_day": 1}, "there is no DNS zone 1"),
        ({"event": "script_cost", "script_id": 1}, "there is no edge script 1"),
        ({"event": "shield_zone_removed", "shield_zone_id": 99}, "there is no shield zone 99"),
        ({"event": "breach_burst", "rate_limit_id": 99, "blocked": 99}, "there is no rate limit 99"),
        ({"event": "access_list_entry", "access_list_id": 1, "entry": "x"}, "there is no access list 1"),
        ({"event": "custom_rule_removed", "rule_id": "1"}, "there is no custom WAF rule 1"),
        (
            {"event": "image_tag_added", "registry_id": "12", "namespace": "no", "name": "no", "tag": "no"},
            "there is no image 12/no/no",
        ),
        ({"event": "scan_failed"}, "zone_id: is missing"),
        (
            {"event": "scan_failed", "zone_id": 101, "why": "because"},
            "why: is not a parameter of this event, which has zone_id",
        ),
    ],
)
async def test_a_refused_event_has_a_reason_in_plain_words(
    client: httpx.AsyncClient, sent: dict[str, object], reason: str
) -> None:
    assert (await client.post("/sandbox/world", json=sent)).json() == {"reasons": [reason]}


@pytest.mark.parametrize("path", ["/", "/sandbox", "/sandbox/"])
async def test_every_command_of_the_index_works(client: httpx.AsyncClient, path: str) -> None:
    await client.post("/sandbox/faults", json={"kind": "status", "status": 500})  # which the index does not meet
    index = await client.get(path)
    assert (index.status_code, index.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    lines = [shlex.split(line) for line in index.text.splitlines() if line.startswith("  curl ")]
    for line in lines:
        words = dict(zip(line[1:-1:2], line[2:-1:2], strict=True))
        method = words.get("-X", "POST" if "-d" in words else "GET")
        answer = await client.request(method, line[-1], content=words.get("-d"))
        assert answer.is_success, (line, answer.text)
    sent = {line[-1].removeprefix("http://sandbox") for line in lines}
    assert {"/sandbox/faults", "/sandbox/clock", "/sandbox/world", "/sandbox/tokens", "/openapi.json"} <= sent


EVENTS: list[dict[str, Any]] = [
    {"event": "dns_queries", "zone_id": 101, "queries": 5},
    {"event": "dns_queries", "zone_id": 101, "queries": -5, "day": "2026-02-01"},
    {"event": "dns_volume", "zone_id": 101, "queries_a_day": 1000},
    {"event": "dns_day_dropped", "zone_id": 101, "day": "2026-02-01"},
    {"event": "dns_day_restored", "zone_id": 101, "day": "2026-02-01"},
    {"event": "dns_chart", "zone_id": 101, "chart": "smart", "shape": "null"},
    {"event": "dns_key_format", "zone_id": 101, "key_format": "date"},
    {"event": "dns_bucket_hours", "zone_id": 101, "hours": 6},
    {"event": "zone_added", "name": "new.example"},
    {"event": "zone_renamed", "zone_id": 102, "name": "renamed.example"},
    {"event": "zone_removed", "zone_id": 103},
    {"event": "scan_started", "zone_id": 101, "fails": True, "seconds": 10},
    {"event": "scan_pending", "zone_id": 101},
    {"event": "scan_in_progress", "zone_id": 101},
    {"event": "scan_completed", "zone_id": 101},
    {"event": "scan_failed", "zone_id": 101},
    {"event": "scan_forgotten", "zone_id": 101},
    {"event": "scan_released", "zone_id": 101},
    {"event": "script_cost", "script_id": 7, "cost": 12.5, "requests": 10, "cpu_ms": 1},
    {"event": "script_growth", "script_id": 7, "growth": 0},
    {"event": "script_added", "name": "new"},
    {"event": "script_renamed", "script_id": 8, "name": "renamed"},
    {"event": "script_deleted", "script_id": 8},
    {"event": "script_removed", "script_id": 9},
    {"event": "breach_burst", "rate_limit_id": 7},
    {"event": "rate_limit_added", "name": "new", "shield_zone_id": 3},
    {"event": "rate_limit_removed", "rate_limit_id": 8},
    {"event": "shield_zone_added", "name": "new-web"},
    {"event": "shield_zone_renamed", "shield_zone_id": 1, "name": "renamed-web"},
    {"event": "shield_zone_fields", "shield_zone_id": 1, "fields": {"planType": None}},
    {"event": "shield_zone_removed", "shield_zone_id": 2},
    {"event": "api_guardian_configured", "shield_zone_id": 3, "configured": False},
    {"event": "access_list_entry", "access_list_id": 11, "entry": "203.0.113.0/24"},
    {"event": "custom_rule_added", "shield_zone_id": 3, "name": "new"},
    {"event": "custom_rule_removed", "rule_id": 22},
    {"event": "image_tag_added", "registry_id": "12", "namespace": "team", "name": "image-worker", "tag": "v1"},
    {"event": "image_tag_removed", "registry_id": "12", "namespace": "team", "name": "image-worker", "tag": "v1"},
    {"event": "registry_reachable", "registry_id": "github", "reachable": False},
]


async def test_every_event_happens(client: httpx.AsyncClient) -> None:
    listed = set((await client.get("/sandbox/world")).json()["events"])
    assert {sent["event"] for sent in EVENTS} == listed
    for sent in EVENTS:
        answer = await client.post("/sandbox/world", json=sent)
        assert (answer.status_code, answer.json()["event"]) == (200, sent["event"])


async def test_events_change_what_the_platform_answers(client: httpx.AsyncClient) -> None:
    await client.post("/sandbox/world", json={"event": "scan_failed", "zone_id": 101})
    await client.post("/sandbox/world", json={"event": "script_cost", "script_id": 7, "cost": 12.5})
    made = (
        await client.post("/sandbox/world", json={"event": "rate_limit_added", "name": "n", "shield_zone_id": 3})
    ).json()
    await client.post("/sandbox/world", json={"event": "breach_burst", "rate_limit_id": made["made"], "blocked": 40})
    assert (await client.get("/dnszone/101/records/scan")).json()["Status"] == 3
    assert (await client.get("/compute/script/7")).json()["MonthlyCost"] == 12.5
    overview = (await client.get(f"/shield/metrics/rate-limit/{made['made']}")).json()["data"]["overview"]
    assert overview["blockedBreaches"] == 40


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"event": "earthquake"},
        {"event": 7},
        {"event": "scan_failed", "zone_id": "all"},
        {"event": "dns_queries", "zone_id": 101, "queries": 10**12},
        {"event": "dns_queries", "zone_id": 101, "queries": 1, "day": "yesterday"},
        {"event": "dns_bucket_hours", "zone_id": 101, "hours": 5},
        {"event": "zone_added", "name": "x", "zone_id": 101},
        {"event": "zone_added", "name": "x", "zone_id": 2**63},
    ],
)
async def test_an_invalid_event_is_refused_with_reasons(
    client: httpx.AsyncClient,
    sent: dict[str, object],
) -> None:
    answer = await client.post("/sandbox/world", json=sent)
    assert answer.status_code == 400
    assert all(answer.json()["reasons"])


async def query(client: httpx.AsyncClient, token: str) -> int:
    """Query the database under a token and return the status."""
    headers = {"Authorization": f"Bearer {token}"}
    body = {"requests": [{"type": "execute", "stmt": {"sql": "SELECT 1"}}, {"type": "close"}]}
    return (await client.post("/v2/pipeline", json=body, headers=headers)).status_code


async def test_generated_tokens_join_those_that_exist(client: httpx.AsyncClient) -> None:
    answer = await client.post("/sandbox/tokens", json={"action": "generate"})
    pair = answer.json()
    assert (answer.status_code, set(pair)) == (201, {"full_access", "read_only"})
    tokens = [DATABASE_TOKEN_FULL, DATABASE_TOKEN_READ_ONLY, *pair.values()]
    assert [await query(client, token) for token in tokens] == [200] * 4


async def test_regenerated_tokens_invalidate_all_that_were_there_before(client: httpx.AsyncClient) -> None:
    generated = (await client.post("/sandbox/tokens", json={"action": "generate"})).json()
    fresh = (await client.post("/sandbox/tokens", json={"action": "regenerate"})).json()
    before = [DATABASE_TOKEN_FULL, DATABASE_TOKEN_READ_ONLY, *generated.values()]
    assert [await query(client, token) for token in before] == [401] * 4
    assert [await query(client, token) for token in fresh.values()] == [200] * 2


async def test_another_action_on_tokens_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/sandbox/tokens", json={"action": "show"})
    assert (answer.status_code, answer.json()) == (400, {"reasons": ["action: must be generate or regenerate"]})
