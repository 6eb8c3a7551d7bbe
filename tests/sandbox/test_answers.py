"""The golden of the sandbox: what each request is answered, byte for byte, in a seeded world at a set time.

`answers.txt` has the requests and their answers. To try another request, write its line there, and have the answer
written. Such a line is `> NUMBER METHOD PATH [key=… bearer=… basic=… type=… host=…] [BODY]`; the numbers are written,
too. Without these words a request has the account owner's key, and a body is JSON; `key=-` is no key, and `<x 5000>` is
x 5,000 times. Each group of requests has a world of its own. A libSQL server answers the requests of the group `as a
libSQL server answers` in the same way (`test_libsql.py`).
"""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx

from exporter.sandbox import keys
from exporter.sandbox.sandbox_server import create_app
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock
from tests.golden import assert_golden

GOLDEN = Path(__file__).with_name("answers.txt")
NOON = 1_770_379_200.0  # 2026-02-06T12:00:00Z, a Friday
WORD = re.compile(r"(key|bearer|basic|type|host)=(\S*) ?")
REPEATED = re.compile(r"<(.) (\d+)>")


def groups() -> Iterator[tuple[str, list[str]]]:
    """Yield each group of requests of the golden with its name."""
    for group in GOLDEN.read_text(encoding="utf-8").split("=== ")[1:]:
        name, *lines = group.split("\n")
        yield name, [line.partition(" ")[2].partition(" ")[2] for line in lines if line.startswith("> ")]


GROUPS = dict(groups())


async def answers(group: str) -> str:
    """Return the requests of a group with their answers."""
    world = World(clock=WorldClock(NOON, speed=0.0), healthy=group == "healthy")
    transport = httpx.ASGITransport(create_app(world), raise_app_exceptions=False)
    seen: dict[str, int] = {}
    lines = [f"=== {group}"]
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as client:
        client.headers.clear()
        for number, request in enumerate(GROUPS[group], 1):
            lines += [f"> {number} {request}", *shown(number, await ask(client, request), seen)]
    world.close()
    return "\n".join(lines) + "\n"


async def ask(client: httpx.AsyncClient, request: str) -> httpx.Response:
    whole = REPEATED.sub(lambda found: found[1] * int(found[2]), request)
    method, path, rest = f"{whole} ".split(" ", 2)
    words = {"key": keys.API_KEY}
    while found := WORD.match(rest):
        words[found[1]], rest = found[2], rest[found.end() :]
    body = rest.rstrip(" ")
    names = {"key": "AccessKey", "bearer": "Authorization", "basic": "Authorization", "type": "Content-Type"}
    headers = {names.get(name, name): f"{name} {value}" if name in ("bearer", "basic") else value
               for name, value in words.items() if value != "-"}  # fmt: skip
    if method in ("POST", "PUT", "PATCH"):
        headers.setdefault("Content-Type", "application/json")
    return await client.request(method, path, content=body.encode(), headers=headers)


def shown(number: int, answer: httpx.Response, seen: dict[str, int]) -> Iterator[str]:
    """Write an answer: status, headers and body; a body that came before is named by its request's number."""
    length = answer.headers.pop("content-length", None)
    headers = [f"{name}: {value}" for name, value in answer.headers.items() if name != "date"]
    if length != str(len(answer.content)):
        headers.append(f"content-length: {length}")
    yield " ".join((str(answer.status_code), *headers))
    # How long a query took is the machine's.
    body = re.sub(rb'("query_duration_ms": ?)[\d.]+', rb"\g<1>0", answer.content).decode("utf-8", "backslashreplace")
    if body:
        first = seen.setdefault(body, number)
        yield "  " + (body.replace("\n", "\n  ") if first == number else f"= {first}")


async def test_every_answer_is_the_one_that_is_kept() -> None:
    assert_golden("".join([await answers(group) for group in GROUPS]), GOLDEN)
