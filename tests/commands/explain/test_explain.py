"""`explain` asks a real daemon on a sandbox, like a new user."""

import json
import signal
import socket
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread

import pytest

from exporter.collectors.causes import Cause
from exporter.sandbox import keys
from tests.commands.conftest import Configure
from tests.commands.platform import Platform
from tests.commands.shell import Ended, Process, invoke, process
from tests.http_answers import answering
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


@pytest.fixture
def guarded() -> Iterator[tuple[str, list[str]]]:
    """The address of an exporter without absences that requires a password, and the paths that it was asked for."""
    paths: list[str] = []

    def answer(request: BaseHTTPRequestHandler, _sent: bytes) -> tuple[int, bytes]:
        paths.append(request.path)
        given = request.headers.get("Authorization", "").removeprefix("Basic ")
        body = {"series": 5, "absent_families": 0, "summary": [], "absences": [], "unknown_targets": [], "matched": 0}
        return (200, json.dumps(body).encode()) if b64decode(given) == b"ann:secret" else (401, b"")

    with answering(answer) as url:
        yield f"{url}/edge", paths


def test_a_password_is_read_from_a_file_or_stdin_and_asked_for_where_it_is_missing(
    guarded: tuple[str, list[str]],
) -> None:
    url, paths = guarded
    refused = invoke("explain", "--url", url)
    words = f"{url} asks for a user name and a password: give --username and --password-file\n"
    assert refused == Ended("", words, 1)
    ended = invoke("explain", "--url", url, "--username", "ann", "--password-file", "-", stdin="secret\n")
    assert ended == Ended("5 series are exposed. Every family that could be there has series.\n", "", 0)
    assert paths[-1] == "/edge/api/v1/explain?limit=1000"


@pytest.mark.parametrize("cause", Cause)
def test_a_cause_is_asked_for_by_the_word_that_the_summary_prints(cause: Cause, guarded: tuple[str, list[str]]) -> None:
    url, paths = guarded
    words = ("--username", "ann", "--password-file", "-", "--cause", str(cause))
    ended = invoke("explain", "--url", url, *words, stdin="secret\n")
    assert ended == Ended("Nothing is absent: every possible family has series.\n", "", 0)
    assert paths[-1] == f"/edge/api/v1/explain?cause={cause}&limit=1000"


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
