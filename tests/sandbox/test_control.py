"""The sandbox's own pages; the golden has the answers of every event and every refusal."""

import json
import re
import shlex

import httpx
import pytest

from tests.sandbox.test_answers import EVENTS


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


async def test_every_event_is_in_the_golden_and_describes_its_parameters(client: httpx.AsyncClient) -> None:
    events = (await client.get("/sandbox/world")).json()["events"]
    assert {found for event in EVENTS for found in re.findall(r'"event": "(\w+)"', event)} >= events.keys()
    assert "exporter." not in json.dumps(events)
