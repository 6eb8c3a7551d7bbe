"""The sandbox's own pages; the golden has the answers of every event and every refusal."""

import html
import json
import re
import shlex

import httpx
import pytest

from exporter.sandbox.faults import KINDS
from tests.sandbox.test_answers import GROUPS


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
    assert {found for event in GROUPS["events"] for found in re.findall(r'"event": "(\w+)"', event)} >= events.keys()
    assert "exporter." not in json.dumps(events)


async def test_the_page_for_a_person_offers_what_the_sandbox_accepts(client: httpx.AsyncClient) -> None:
    page = (await client.get("/sandbox", headers={"Accept": "text/html,*/*;q=0.8"})).text
    assert all(f"<option>{kind}</option>" in page for kind in KINDS)
    assert "prod-shop.example (101)" in page
    tries = re.findall(r"data-method=\"POST\" data-path=\"(.*?)\" data-body='(.*?)'", page)
    assert len(tries) == 6
    for path, body in tries:
        assert (await client.post(path, content=html.unescape(body))).is_success
    assert "<td>503" not in page
    shown = (await client.get("/sandbox", headers={"Accept": "text/html"})).text
    assert shown.count('data-path="/sandbox/faults/') == 4
