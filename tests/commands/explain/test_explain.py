"""`explain` asks a real daemon on a sandbox, like a new user, and what it prints of answers: `explain.txt`.

A case of `explain.txt` is one of `tests.commands.transcript`. Above it is the answer of an exporter at `URL`: an
object, a list or the JSON of a text (`answer STATUS JSON`). Below it is what the exporter was asked.
"""

import asyncio
import json
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from exporter.sandbox import keys
from tests.commands.conftest import Configure
from tests.commands.sandbox_thread import Platform
from tests.commands.shell import invoke, process
from tests.commands.transcript import assert_cases, given, printed
from tests.http_answers import answering
from tests.platform.raw_server import ending, raw_server
from tests.ports import free_port
from tests.waiting import wait_until

CASES = Path(__file__).with_name("explain.txt")
ACCOUNT = """\
accounts:
  - name: main
    base_url: {url}
    api_key: {key}
    dns_zones: {include: ["{include}"]}
web: {listen: "127.0.0.1:{port}"}
state: {path: null}
"""


def test_a_typing_error_in_a_pattern_is_found_from_the_empty_panel(platform: Platform, configure: Configure) -> None:
    port = str(free_port())
    path = configure(ACCOUNT, url=platform.url, key=keys.API_KEY, include="^prdo-", port=port)
    words = ("explain", "--url", f"http://127.0.0.1:{port}", "edge_dns_queries_total", "prod-shop.example")
    with process("run", "--config", path, "--log.format", "json") as running:
        running.read_log("serving")
        wait_until(lambda: "not asked for" in invoke(*words).out)
        ended = invoke(*words)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "edge_dns_queries_total: dns_zone/101 (prod-shop.example) of main",
        f"  not asked for: {path}:5: accounts[0].dns_zones.include: leaves the target out",
    ]


class Served:
    """A server, how it answers, and the last request."""

    url: str
    status: int
    body: str
    asked: BaseHTTPRequestHandler

    def answer(self, request: BaseHTTPRequestHandler, _sent: bytes) -> tuple[int, bytes]:
        """Note a request, and answer it."""
        self.asked = request
        return self.status, self.body.encode()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    it = Served()
    with answering(it.answer) as it.url:
        yield it


def told(case: str, served: Served) -> Iterator[str]:
    """Run a case; yield what is printed, and what the exporter was asked."""
    _, status, body = next(line for line in given(case) if line.startswith("answer ")).split(" ", 2)
    served.status, served.body = int(status), body if body[0] in "[{" else json.loads(body)
    # The proxy of the environment is for the platform.
    environ = {"http_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    yield from (line.replace(served.url, "URL") for line in printed(case.replace("URL", served.url), environ))
    yield f"asked {served.asked.path}"


def test_what_is_asked_and_what_is_printed(served: Served) -> None:
    assert_cases(CASES, lambda case: told(case, served))


def test_a_password_is_read_from_a_file_or_stdin(served: Served) -> None:
    served.status, served.body = 200, '{"now": 2.0, "absences": [], "others": {}}'
    words = ("explain", "--url", served.url, "--username", "ann\udcff", "--password-file", "-")
    assert invoke(*words, stdin=b"secret\xfe \n").code == 0
    assert b64decode(served.asked.headers["Authorization"].removeprefix("Basic ")) == b"ann\xff:secret\xfe "


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"220 mail.example.net\r\n", "no edge-exporter answers at URL ("),
        (b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nx", "URL answered 500: No\n"),
    ],
)
async def test_a_server_without_a_whole_http_answer_is_named(sent: bytes, said: str) -> None:
    async with raw_server(ending("closed", sent)) as server:
        with process("explain", "--url", server.url) as asking:
            ended = await asyncio.to_thread(asking.wait)
    assert (ended.code, ended.err.startswith(said.replace("URL", server.url))) == (1, True)
