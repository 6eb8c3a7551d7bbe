import hashlib

import httpx
import pytest

from exporter.sandbox.bots import BotAction
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.world import World

ZONE = "/shield/shield-zone"
PROBLEM = {"type", "title", "status", "detail", "instance"}


async def test_an_access_list_has_its_content_and_checksum(client: httpx.AsyncClient) -> None:
    answer = (await client.get(f"{ZONE}/3/access-lists/11")).json()
    data = answer["data"]
    assert answer["error"] is None
    assert (data["id"], data["name"], data["entryCount"]) == (11, "blocked-networks", len(data["content"].split("\n")))
    assert data["checksum"] == hashlib.sha256(data["content"].encode()).hexdigest()
    assert data["lastModified"] == "2026-02-06T00:00:00"
    assert data["description"]


async def test_an_access_list_changes_with_the_day_and_with_entries(
    client: httpx.AsyncClient,
    world: World,
    clock: WorldClock,
) -> None:
    first = (await client.get(f"{ZONE}/3/access-lists/11")).json()["data"]
    clock.advance(86_400)
    second = (await client.get(f"{ZONE}/3/access-lists/11")).json()["data"]
    assert second["entryCount"] != first["entryCount"]
    world.access_lists.add_entry(11, "203.0.113.9/32")
    third = (await client.get(f"{ZONE}/3/access-lists/11")).json()["data"]
    assert (third["entryCount"], third["lastModified"]) == (second["entryCount"] + 1, "2026-02-07T12:00:00")
    assert len({one["checksum"] for one in (first, second, third)}) == 3


async def test_what_is_nullable_of_an_access_list_is_null_somewhere(client: httpx.AsyncClient) -> None:
    data = (await client.get(f"{ZONE}/2/access-lists/9")).json()["data"]
    assert (data["description"], data["entryCount"], data["lastModified"]) == (None, None, None)


@pytest.mark.parametrize("path", ["3/access-lists/99", "1/access-lists/11"])
async def test_an_access_list_that_is_not_the_zones_is_a_problem(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(f"{ZONE}/{path}")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert set(answer.json()) == PROBLEM
    assert (answer.json()["status"], answer.json()["instance"]) == (404, f"{ZONE}/{path}")


async def test_an_access_list_is_switched(client: httpx.AsyncClient, world: World) -> None:
    zone, configuration = world.access_list_configuration_ids()[-1]
    for enabled in (False, True):
        path = f"{ZONE}/{zone}/access-lists/configurations/{configuration}"
        answer = await client.patch(path, json={"isEnabled": enabled})
        assert answer.json() == {"data": {"isEnabled": enabled}, "error": None}
        found = world.access_lists.find_configuration(zone, configuration)
        assert found is not None
        assert found.is_enabled is enabled


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("3/access-lists/configurations/111", {"isEnabled": "yes"}, 400),
        ("3/access-lists/configurations/111", {}, 400),
        ("3/access-lists/configurations/11", {"isEnabled": True}, 404),
        ("3/access-lists/configurations/x", {"isEnabled": True}, 400),
        ("99/access-lists/configurations/111", {"isEnabled": True}, 202),
    ],
)
async def test_an_invalid_switch_is_refused(
    client: httpx.AsyncClient,
    path: str,
    body: dict[str, object],
    status: int,
) -> None:
    assert (await client.patch(f"{ZONE}/{path}", json=body)).status_code == status


@pytest.mark.parametrize("content_type", ["text/json", "application/merge-patch+json"])
async def test_a_bot_category_gets_an_action(client: httpx.AsyncClient, world: World, content_type: str) -> None:
    answer = await client.put(
        f"{ZONE}/3/bot-categorization/categories/2",
        content=b'{"action": 1}',
        headers={"Content-Type": content_type},
    )
    assert answer.json() == {"data": {"category": 2, "action": 1}, "error": None}
    assert world.bots.action(3, 2) is BotAction.BLOCK


@pytest.mark.parametrize("category", ["8", "-1", "255", "one", "99999999999999999999"])
async def test_a_category_that_the_path_does_not_accept_is_a_problem(client: httpx.AsyncClient, category: str) -> None:
    answer = await client.put(f"{ZONE}/3/bot-categorization/categories/{category}", json={"action": 1})
    assert (answer.status_code, set(answer.json())) == (400, PROBLEM)


@pytest.mark.parametrize(
    "body", [{}, {"action": 3}, {"action": -1}, {"action": "1"}, {"action": True}, {"action": 1.0}]
)
async def test_an_action_that_does_not_exist_is_a_problem(client: httpx.AsyncClient, body: dict[str, object]) -> None:
    answer = await client.put(f"{ZONE}/3/bot-categorization/categories/2", json=body)
    assert (answer.status_code, set(answer.json())) == (400, PROBLEM)


async def test_a_body_of_another_content_type_is_a_problem(client: httpx.AsyncClient) -> None:
    answer = await client.put(
        f"{ZONE}/3/bot-categorization/categories/2",
        content=b"action=1",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert (answer.status_code, set(answer.json())) == (415, PROBLEM)


async def test_bot_detection_has_an_error_of_defaults(client: httpx.AsyncClient) -> None:
    answer = (await client.get(f"{ZONE}/3/bot-detection")).json()
    assert answer["error"] == {"success": False, "message": None, "errorKey": None}


async def test_the_api_guardian_has_its_configuration_and_endpoints(client: httpx.AsyncClient) -> None:
    data = (await client.get(f"{ZONE}/3/api-guardian")).json()["data"]
    configuration, endpoints = data["configuration"], data["endpoints"]
    assert (configuration["shieldZoneId"], configuration["isEnabled"], configuration["maxEndpoints"]) == (3, True, 50)
    assert {endpoint["isEnabled"] for endpoint in endpoints} == {True, False}
    checks = (
        "validateRequestBodySchema",
        "validateResponseBodySchema",
        "validateAuthorization",
        "detectParameterXss",
        "detectParameterSqli",
        "rateLimitingEnabled",
    )
    assert all(endpoints[0][check] for check in checks)
    assert "200" in endpoints[0]["responseBodySchemasYaml"]


@pytest.mark.parametrize(
    ("path", "status", "error_key"),
    [
        ("2/bot-detection", 202, "invalid_plan_type.bot_detection"),
        ("2/api-guardian", 200, "api_guardian.get_api_guardian.no_configuration"),
        ("99/bot-detection", 202, "not_found_or_unauthorised_access.shieldzone"),
        ("99/api-guardian", 202, "not_found_or_unauthorised_access.shieldzone"),
        ("99/access-lists/11", 202, "not_found_or_unauthorised_access.shieldzone"),
    ],
)
async def test_what_a_zone_has_not_got_fails_inside_an_envelope(
    client: httpx.AsyncClient,
    path: str,
    status: int,
    error_key: str,
) -> None:
    answer = await client.get(f"{ZONE}/{path}")
    assert (answer.status_code, answer.json()["data"]) == (status, None)
    assert set(answer.json()["error"]) == {"success", "message", "errorKey"}
    assert (answer.json()["error"]["success"], answer.json()["error"]["errorKey"]) == (False, error_key)


@pytest.mark.parametrize(("zone", "error_key"), [(2, "invalid_plan_type.bot_categorization"), (99, None)])
async def test_bot_categories_fail_with_a_status_in_their_envelope(
    client: httpx.AsyncClient,
    zone: int,
    error_key: str | None,
) -> None:
    answer = await client.put(f"{ZONE}/{zone}/bot-categorization/categories/2", json={"action": 1})
    error = answer.json()["error"]
    assert (answer.status_code, set(error)) == (202, {"success", "message", "errorKey", "statusCode"})
    assert error["errorKey"] == (error_key or "not_found_or_unauthorised_access.shieldzone")


async def test_a_configuration_can_be_given_and_taken(client: httpx.AsyncClient, world: World) -> None:
    world.guardian.set_configured(2, configured=True)
    world.guardian.set_configured(3, configured=False)
    given, taken = [(await client.get(f"{ZONE}/{zone}/api-guardian")).json()["data"] for zone in (2, 3)]
    assert (given["configuration"]["shieldZoneId"], taken) == (2, None)


@pytest.mark.parametrize("path", ["3/bot-detection", "3/api-guardian", "3/access-lists/11"])
async def test_a_wrong_key_is_answered_with_its_status(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(f"{ZONE}/{path}", headers={"AccessKey": "wrong"})
    assert (answer.status_code, answer.json()) == (401, {"statusCode": 401})
