"""`explain` asks a real daemon on a sandbox, like a new user."""

import json
import socket
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from threading import Thread

import pytest

from exporter.sandbox import keys
from tests.commands.conftest import Configure
from tests.commands.platform import Platform
from tests.commands.shell import Ended, invoke, process
from tests.http_answers import answering
from tests.ports import free_port
from tests.waiting import wait_until

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
        f"  not asked for: {path}:5: accounts[0].dns_zones.include: leaves it out",
    ]


def absence(number: int = 1, **changed: object) -> dict[str, object]:
    targets = [{"target": f"thing/{one}", "name": ""} for one in range(min(number, 20))]
    found = {"account": "main", "collector": "a", "families": ["edge_a", "edge_b"], "number": number}
    return found | {"targets": targets, "cause": "failing", "since": 1.0, "text": "failing: broken"} | changed


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


NOTHING: dict[str, object] = {"now": 2.0, "absences": [], "others": {}}


@pytest.mark.parametrize(
    ("words", "query", "answer", "out"),
    [
        ("", "", NOTHING, "Nothing is absent: every possible family has series."),
        ("edge_a thing/1", "family=edge_a&target=thing%2F1", NOTHING | {"absences": [absence(), absence(account="")]},
         "edge_a, edge_b: thing/0 of main\n  failing: broken\nedge_a, edge_b: thing/0\n  failing: broken"),
        ("", "", NOTHING | {"absences": [absence(1234, families=list("abcdefg"))]},
         ("a, b, c, d, e and 2 more: thing/0, thing/1, thing/2, thing/3, thing/4 and 1,229 more of main\n"
          "  failing: broken")),
        ("x", "target=x", NOTHING | {"others": {"x": "not known, or removed"}}, "x: not known, or removed"),
        ("-o json", "", NOTHING, json.dumps(NOTHING, indent=2)),
        ("", "", NOTHING | {"absences": [absence(text="it\nsaid \x1b[2J")]},
         "edge_a, edge_b: thing/0 of main\n  it\\u000asaid \\u001b[2J"),
    ],
)  # fmt: skip
def test_what_is_asked_and_what_is_printed(
    served: Served, words: str, query: str, answer: dict[str, object], out: str
) -> None:
    served.status, served.body = 200, json.dumps(answer)
    # The proxy of the environment is for the platform.
    proxy = {"http_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    ended = invoke("explain", "--url", f"{served.url}/edge/", *words.split(), environ=proxy)
    assert ended == Ended(f"{out}\n", "", 0)
    assert served.asked.path == f"/edge/api/v1/explain?{query}"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, " family: unknown \n", "family: unknown"),
        (503, "", "{url} answered 503"),
        (200, "<html>", "no edge-exporter answers at {url} ("),
        (200, "[]", "the server at {url} is not an edge-exporter"),
        (200, "{}", "the server at {url} is not an edge-exporter"),
    ],
)
def test_an_answer_without_absences_is_one_clear_line(served: Served, status: int, body: str, said: str) -> None:
    served.status, served.body = status, body
    ended = invoke("explain", "--url", served.url)
    assert (ended.out, ended.code, ended.err.count("\n")) == ("", 1, 1)
    assert ended.err.startswith(said.format(url=f"{served.url}")), ended.err


def test_a_password_is_read_from_a_file_or_stdin(served: Served) -> None:
    served.status, served.body = 200, json.dumps(NOTHING)
    words = ("explain", "--url", served.url, "--username", "ann", "--password-file", "-")
    assert invoke(*words, stdin="secret \n").code == 0
    assert b64decode(served.asked.headers["Authorization"].removeprefix("Basic ")) == b"ann:secret "
    ended = invoke("explain", "--url", served.url.replace("//", "//ann:secret@"))
    assert (ended.code, "secret" in ended.err) == (2, False)


def test_a_server_that_does_not_speak_http_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"220 mail.example.net\r\n")
                connection.recv(4096)

        thread = Thread(target=greet)
        thread.start()
        ended = invoke("explain", "--url", f"http://127.0.0.1:{port}")
        thread.join()
    assert (ended.code, ended.err.startswith(f"no edge-exporter answers at http://127.0.0.1:{port} (")) == (1, True)
