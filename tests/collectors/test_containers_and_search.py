"""The collectors of container tags and of configured searches."""

import pytest

from exporter.collectors import container_tags, search
from exporter.platform.errors import Rejected
from exporter.targets.target import Target
from tests.collectors.polls import exposed, poll

IMAGE = Target(
    "main",
    "image",
    "dockerhub/library/nginx",
    "dockerhub/library/nginx",
    attributes={"registry_id": "dockerhub", "namespace": "library", "name": "nginx"},
    watched=("stable", "1.27", "edge"),
)
SEARCH = Target("main", "search", 'prod "eu"', 'prod "eu"')


async def test_an_image_without_tags() -> None:
    exposition = exposed(container_tags.COLLECTOR, await poll(container_tags.COLLECTOR, IMAGE, "[]"))
    assert [line.rpartition(" ")[2] for line in exposition.splitlines() if not line.startswith("#")] == ["0.0"] * 4


async def test_an_image_that_is_refused_fails() -> None:
    with pytest.raises(Rejected):
        await poll(container_tags.COLLECTOR, IMAGE, Rejected("the platform answered 422", status=422))


async def test_a_search_without_a_total_yields_nothing() -> None:
    assert exposed(search.COLLECTOR, await poll(search.COLLECTOR, SEARCH, '{"Total": null}')) == ""
