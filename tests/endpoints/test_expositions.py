"""The whole exposition of configured endpoints."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from tests.endpoints.test_engine import BUSY, OFF
from tests.endpoints.undocumented_platform import Query, platform
from tests.exporter_parts import ExporterParts, exporter_parts
from tests.golden import ROOT, assert_golden

EXPOSITIONS = Path(__file__).parent / "expositions"
ZONE = {"dns_zones": {"discover": False, "ids": [102]}}


def assert_exposed(parts: ExporterParts, endpoints: list[dict[str, Any]], name: str) -> None:
    """Compare the families that endpoints declare, and whether their targets were read, with a golden file."""
    families: dict[str, list[str]] = {}
    for line in parts.text().splitlines():
        words = re.split(r"[ {]", line.removeprefix("# HELP ").removeprefix("# TYPE "))
        families.setdefault(words[0], []).append(line)
    names = [metric["name"] for endpoint in endpoints for metric in endpoint["metrics"]]
    # The order of targets is that of their polls, which is not guaranteed.
    shown = [line for family in (*names, "edge_target_up") for line in sorted(families[family])]
    assert_golden("\n".join(shown) + "\n", EXPOSITIONS / f"{name}.prom")


async def test_every_kind_of_target_and_of_metric() -> None:
    made = yaml.safe_load((EXPOSITIONS / "every_source.yml").read_text(encoding="utf-8"))
    answers: dict[str, object] = {}

    def answer(path: str, _query: Query) -> tuple[int, bytes]:
        return (200, json.dumps(answers[path]).encode()) if path in answers else (404, b"{}")

    endpoints = made["endpoints"]
    async with platform(answer) as place:
        answers.update(made["rounds"][0])
        parts = exporter_parts(url=place.url, account={**BUSY, **ZONE}, collectors=OFF, more={"endpoints": endpoints})
        async with parts as world:
            for following in made["rounds"][1:]:
                answers.update(following)
                await world.turn(900)
            assert_exposed(world, endpoints, "every_source")


async def test_the_endpoint_files_that_are_shipped_read_the_recorded_shapes() -> None:
    files = sorted((ROOT / "deploy" / "endpoints").glob("*.yml"))
    endpoints = [one for file in files for one in yaml.safe_load(file.read_text(encoding="utf-8"))["endpoints"]]
    shop = {"include": ["prod-shop.*"]}
    found = {**BUSY, "dns_zones": shop, "scripts": {}}
    on = {**OFF, "discovery": {"enabled": True}}
    async with exporter_parts(account=found, collectors=on, more={"endpoints": endpoints}) as world:
        await world.turn(7200)
        assert_exposed(world, endpoints, "shipped")
