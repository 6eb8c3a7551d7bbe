import httpx
import pytest

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.world import World

PATH = "/mc/registries/tags"
NGINX = {"registryId": "dockerhub", "imageNamespace": "library", "imageName": "nginx"}
API = {"registryId": "github", "imageNamespace": "acme", "imageName": "orders-api"}


async def test_every_image_of_the_world_has_its_tags(client: httpx.AsyncClient, world: World) -> None:
    for registry_id, namespace, name, tags in world.images():
        body = {"registryId": registry_id, "imageNamespace": namespace, "imageName": name}
        assert (await client.post(PATH, json=body)).json() == [{"name": tag} for tag in tags]
    assert {"name": "stable"} in (await client.post(PATH, json=NGINX)).json()


async def test_a_nightly_build_is_added_every_day(client: httpx.AsyncClient, clock: WorldClock) -> None:
    today = (await client.post(PATH, json=API)).json()
    assert today[-1] == {"name": "nightly-20260206"}
    clock.advance(86_400)
    tomorrow = (await client.post(PATH, json=API)).json()
    assert (tomorrow[-1], len(tomorrow)) == ({"name": "nightly-20260207"}, len(today))


async def test_tags_come_and_go(client: httpx.AsyncClient, world: World) -> None:
    world.registries.add_tag("dockerhub", "library", "nginx", "1.30.0")
    world.registries.remove_tag("dockerhub", "library", "nginx", "stable")
    tags = [tag["name"] for tag in (await client.post(PATH, json=NGINX)).json()]
    assert ("1.30.0" in tags, "stable" in tags) == (True, False)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"registryId": "quay"}, "registryId"),
        ({"registryId": 12}, "registryId"),
        ({"imageName": ""}, "imageName"),
        ({"imageNamespace": None}, "imageNamespace"),
    ],
)
async def test_a_faulty_field_is_named(client: httpx.AsyncClient, changed: dict[str, object], field: str) -> None:
    answer = await client.post(PATH, json={**NGINX, **changed})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert set(answer.json()) == {"title", "status", "detail", "instance", "errors", "id"}
    assert [set(error) for error in answer.json()["errors"]] == [{"field", "message"}]
    assert answer.json()["errors"][0]["field"] == field


async def test_a_registry_that_does_not_answer_is_the_platforms_failure(
    client: httpx.AsyncClient, world: World
) -> None:
    world.registries.set_reachable("github", reachable=False)
    answers = [await client.post(PATH, json=API) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [500, 500]
    assert set(answers[0].json()) == {"title", "status", "detail", "instance", "errors", "id"}
    assert answers[0].json()["id"] != answers[1].json()["id"]
    world.registries.set_reachable("github", reachable=True)
    assert (await client.post(PATH, json=API)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"AccessKey": "wrong"}, b"{}", 401),
        ({"Content-Type": "text/plain"}, b"{}", 415),
        ({"Content-Type": "application/json"}, b"[]", 400),
        (
            {"Content-Type": "text/json"},
            b'{"registryId": "dockerhub", "imageNamespace": "library", "imageName": "nothing"}',
            404,
        ),
    ],
)
async def test_other_failures_are_problems(
    client: httpx.AsyncClient,
    headers: dict[str, str],
    content: bytes,
    status: int,
) -> None:
    answer = await client.post(PATH, content=content, headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert set(answer.json()) == {"type", "title", "status", "detail", "instance"}
