"""`explain` asks a real daemon on a sandbox, like a new user."""

import json
import signal
import socket
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from exporter.collectors.causes import Cause
from exporter.sandbox import keys
from tests.commands.conftest import Configure
from tests.commands.platform import Platform
from tests.commands.shell import Ended, Process, invoke, process
from tests.ports import free_port
from tests.waiting import settled

ACCOUNT = """\
accounts:
  - name: main
    base_url: {url}
    api_key: {key}
    dns_zones: {include: ["{include}"]}
web: {listen: "127.0.0.1:{port}"}
state: {path: null}
"""


@contextmanager
def daemon(path: Path) -> Iterator[Process]:
    """A daemon that serves."""
    with process("run", "--config", path, "--log.format", "json") as running:
        running.read_log("serving")
        yield running
        running.send(signal.SIGTERM)


def causes(path: Path, *words: str) -> dict[tuple[str, str], set[str]]:
    """Return (collector, target) → the reported causes."""
    found: dict[tuple[str, str], set[str]] = {}
    ended = invoke("explain", "--config", path, "-o", "json", *words)
    for absence in json.loads(ended.out)["absences"]:
        found.setdefault((absence["collector"], absence["target"]), set()).add(absence["cause"])
    return found


def test_a_typing_error_in_a_pattern_is_found_from_the_empty_panel(platform: Platform, configure: Configure) -> None:
    path = configure(ACCOUNT, url=platform.url, key=keys.API_KEY, include="^prdo-", port=str(free_port()))
    with daemon(path):
        asked = ("edge_dns_queries_total", "prod-shop.example")
        settled(lambda: causes(path, *asked), {("dns_statistics", "dns_zone/101"): {"filtered"}})
        ended = invoke("explain", "--config", path, *asked)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "edge_dns_queries_total",
        "  cause:    filtered: an include or exclude pattern leaves the target out",
        "  target:   dns_zone/101 (prod-shop.example) of main, by dns_statistics",
        "  evidence: 'prod-shop.example': its name matches no include pattern: ^prdo- (dns_zones)",
        "  to do:    Compare the pattern with the name: correct it, or list the target's id under `ids`, and reload.",
    ]


def test_a_key_of_limited_rights_and_a_low_plan_are_told_apart(platform: Platform, configure: Configure) -> None:
    path = configure(ACCOUNT, url=platform.url, key=keys.POWERLESS_KEY, include="^prod-", port=str(free_port()))
    expected = {
        ("dns_statistics", "dns_zone/101"): {"key_forbidden"},
        ("shield_bot_detection", "shield_zone/2"): {"not_available"},
        ("shield_api_guardian", "shield_zone/2"): {"not_available"},
        ("shield_zones", "shield_zone/2"): {"no_value"},
    }
    with daemon(path):
        assert settled(lambda: causes(path, "dns_zone/101", "shield_zone/2"), expected) == expected
        summary = invoke("explain", "--config", path).out
    assert "series are exposed" in summary.splitlines()[0]
    assert "key_forbidden" in summary
    assert "the key or token may not read this" in summary


def test_without_an_exporter_it_says_so(configure: Configure) -> None:
    port = free_port()
    path = configure(f"web: {{listen: '127.0.0.1:{port}'}}\n")
    words = (
        f"no exporter answers at http://127.0.0.1:{port} (Connection refused): start one with `edge-exporter run`, "
        "or name its address with --url or --config\n"
    )
    assert invoke("explain", "--config", path) == Ended("", words, 1)


class Answering(BaseHTTPRequestHandler):
    """Answers like an exporter without absences, if the password is right."""

    paths: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Answer a request."""
        self.paths.append(self.path)
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        if b64decode(given) != b"ann:secret":
            self.send_error(401)
            return
        answer = {"series": 5, "absent_families": 0, "summary": [], "absences": [], "unknown_targets": [], "matched": 0}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Print nothing."""


@pytest.fixture
def guarded() -> Iterator[str]:
    """The address of an exporter that requires a password."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/edge"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_password_is_read_from_a_file_or_stdin_and_asked_for_where_it_is_missing(guarded: str) -> None:
    refused = invoke("explain", "--url", guarded)
    words = f"{guarded} asks for a user name and a password: give --username and --password-file\n"
    assert refused == Ended("", words, 1)
    ended = invoke("explain", "--url", guarded, "--username", "ann", "--password-file", "-", stdin="secret\n")
    assert ended == Ended("5 series are exposed. Every family that could be there has series.\n", "", 0)
    assert Answering.paths[-1] == "/edge/api/v1/explain?limit=1000"


@pytest.mark.parametrize("cause", Cause)
def test_a_cause_is_asked_for_by_the_word_that_the_summary_prints(cause: Cause, guarded: str) -> None:
    words = ("--username", "ann", "--password-file", "-", "--cause", str(cause))
    ended = invoke("explain", "--url", guarded, *words, stdin="secret\n")
    assert ended == Ended("Nothing is absent: every possible family has series.\n", "", 0)
    assert Answering.paths[-1] == f"/edge/api/v1/explain?cause={cause}&limit=1000"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://ann:s3cret@localhost:9877", "expected --username and --password-file"),
        ("http://ann:s3/cret@localhost:9877", "expected --username and --password-file"),
        ("http://[::1", "expected an address"),
        ("http://x:y", "expected an address"),
        ("localhost:9877", "--url is 'localhost:9877'; expected an address such as http://127.0.0.1:9877"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str, said: str) -> None:
    refused = invoke("explain", "--url", url)
    assert (refused.out, refused.code, said in refused.err, "ann" in refused.err) == ("", 2, True, False)


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
    words = f"the server at http://127.0.0.1:{port} is not an edge-exporter: its answer is not HTTP\n"
    assert (ended.code, ended.err) == (1, words)
