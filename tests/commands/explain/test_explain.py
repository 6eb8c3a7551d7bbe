"""`explain` asks a real daemon on a sandbox, like a new user."""

import json
import socket
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread

import pytest

from exporter.collectors.causes import Cause
from exporter.commands.explain import details
from exporter.sandbox import keys
from tests.commands.conftest import Configure
from tests.commands.platform import Platform
from tests.commands.shell import Ended, invoke, process
from tests.http_answers import answering
from tests.ports import free_port
from tests.waiting import wait_until
from tests.web.certificates import Authority

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
    path = configure(ACCOUNT, url=platform.url, key=keys.API_KEY, include="^prdo-", port=str(free_port()))
    words = ("explain", "--config", path, "edge_dns_queries_total", "prod-shop.example")
    with process("run", "--config", path, "--log.format", "json") as running:
        running.read_log("serving")
        wait_until(lambda: "filtered" in invoke(*words).out)
        ended = invoke(*words)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "edge_dns_queries_total",
        "  cause:    filtered: an include or exclude pattern leaves the target out",
        "  target:   dns_zone/101 (prod-shop.example) of main, by dns_statistics",
        "  evidence: 'prod-shop.example': its name matches no include pattern: ^prdo- (dns_zones)",
        "  to do:    Compare the pattern with the name: correct it, or list the target's id under `ids`, and reload.",
    ]


def absence(number: int, **changed: object) -> dict[str, object]:
    named = {"families": ["edge_a", "edge_b"], "collector": "a", "target": f"thing/{number}", "name": f"thing-{number}"}
    return (
        named
        | {"account": "main", "cause": "failing", "text": "It fails.", "evidence": "404", "advice": "Wait."}
        | changed
    )


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


NONE: dict[str, object] = {
    "series": 1234, "absent_families": 0, "summary": [], "absences": [], "unknown_targets": [], "matched": 0,
}  # fmt: skip
ROW = {"families": 2, "targets": 6, "collector": "a", "cause": "failing", "text": "It fails."}
SOME = NONE | {"absent_families": 1, "summary": [ROW], "absences": [absence(n) for n in range(6)], "matched": 1006}
TABLE = "FAMILIES  TARGETS  COLLECTOR  CAUSE    MEANING\n2         6        a          failing  It fails."
HINT = "Name a family, a target, --collector or --cause to see the evidence and what to do."
TARGETS = "".join(f"  target:   thing/{n} (thing-{n}) of main, by a\n  evidence: 404\n" for n in range(5))
GROUP = f"edge_a, edge_b\n  cause:    failing: It fails.\n{TARGETS}  … and 1 more targets alike (-o json lists them)"


@pytest.mark.parametrize(
    ("words", "query", "body", "out"),
    [
        ("", "limit=1000", NONE, "1,234 series are exposed. Every family that could be there has series."),
        ("", "limit=1000", SOME,
         f"1,234 series are exposed. 1 family has no series, counted for each target:\n\n{TABLE}\n\n{HINT}"),
        ("edge_a thing/1 --collector a --account m --limit 6",
         "family=edge_a&target=thing%2F1&collector=a&account=m&limit=6", SOME,
         f"{GROUP}\n  to do:    Wait.\n\n… and 1,000 more absences: name a target, or raise --limit."),
        *((f"--cause {cause}", f"cause={cause}&limit=1000", NONE,
           "Nothing is absent: every possible family has series.") for cause in Cause),
        ("x", "target=x&limit=1000", NONE | {"unknown_targets": ["x"]},
         "'x' is unknown: neither a target nor a name that discovery has found."),
        ("x edge_b", "target=x&family=edge_b&limit=1000",
         NONE | {"absences": [absence(1, name="thing/1", account=""), absence(2, cause="off")], "matched": 2},
         ("edge_a, edge_b\n  cause:    failing: It fails.\n  target:   thing/1, by a\n  evidence: 404\n"
          "  to do:    Wait.\n\nedge_a, edge_b\n  cause:    off: It fails.\n"
          "  target:   thing/2 (thing-2) of main, by a\n  evidence: 404\n  to do:    Wait.")),
        ("edge_a", "family=edge_a&limit=1000", SOME | {"absences": [absence(n) for n in range(5)], "matched": 5},
         f"{GROUP.partition('  …')[0]}  to do:    Wait."),
        ("-o json", "limit=1000", NONE, json.dumps(NONE, indent=2)),
    ],
)  # fmt: skip
def test_what_is_asked_and_what_is_printed(
    served: Served, words: str, query: str, body: dict[str, object], out: str
) -> None:
    served.status, served.body = 200, json.dumps(body)
    assert invoke("explain", "--url", f"{served.url}/edge/", *words.split()) == Ended(f"{out}\n", "", 0)
    assert served.asked.path == f"/edge/api/v1/explain?{query}"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, "", "{url} asks for a user name and a password: give --username and --password-file"),
        (404, "", "{url} has no /api/v1/explain: see whether the address and web.route_prefix are right"),
        (400, " cause: unknown \n", "cause: unknown"),
        (503, "", "{url} answered 503"),
        (200, "<html>", "the server at {url} is not an edge-exporter: its answer is not JSON"),
        (200, "[]", "the server at {url} is not an edge-exporter that explains absences"),
        (200, "{}", "the server at {url} is not an edge-exporter that explains absences"),
    ],
)
def test_an_answer_without_absences_is_one_clear_line(served: Served, status: int, body: str, said: str) -> None:
    served.status, served.body = status, body
    assert invoke("explain", "--url", served.url) == Ended("", f"{said.format(url=served.url)}\n", 1)


def test_lines_are_wrapped_at_the_width_of_a_terminal_between_words() -> None:
    lines = details({"absences": [absence(1, evidence="found two-three four")]}, 22).splitlines()
    assert lines[6:8] == ["  evidence: found", "      two-three four"]


def test_a_password_is_read_from_a_file_or_stdin(served: Served) -> None:
    served.status, served.body = 200, json.dumps(NONE)
    words = ("explain", "--url", served.url, "--username", "ann", "--password-file", "-")
    assert invoke(*words, stdin="secret\n").code == 0
    assert b64decode(served.asked.headers["Authorization"].removeprefix("Basic ")) == b"ann:secret"


@pytest.mark.parametrize(
    ("text", "environ", "said"),
    [
        ("web: {listen: ':1'}", {},
         ("no exporter answers at http://127.0.0.1:1 (Connection refused): start one with `edge-exporter run`, or name "
          "its address with --url or --config\n")),
        ("web: {listen: ':1', route_prefix: /edge/}", {"EDGE_EXPORTER_WEB__LISTEN": ":2"},
         "no exporter answers at http://127.0.0.1:2/edge (Connection refused): "),
        ("web: {listen: ':1', config_file: web.yml}", {}, "no exporter answers at https://127.0.0.1:1 (Connection "),
        ("web: {listen: here}", {}, "the web section of the configuration is wrong; see `edge-exporter check`\nGive "),
        ("web: {config_file: gone.yml}", {}, "{folder}/gone.yml: does not exist\nGive --url to name the exporter's "),
        ("web: [1", {}, "{folder}/config.yml:1: a list that starts with '[' does not end; "),
    ],
)  # fmt: skip
def test_the_address_is_that_of_the_configuration(
    configure: Configure, tmp_path: Path, text: str, environ: dict[str, str], said: str
) -> None:
    Authority(tmp_path).issue()
    (tmp_path / "web.yml").write_text("tls_server_config: {cert_file: server.crt, key_file: server.key}\n")
    ended = invoke("explain", "--config", configure(text), environ=environ)
    assert (ended.out, ended.code) == ("", 1)
    assert ended.err.startswith(said.replace("{folder}", str(tmp_path))), ended.err
    assert invoke("explain", "--config", tmp_path).code == 2
    unusable = invoke("explain", "--url", "https://127.0.0.1:1", "--cert-file", tmp_path / "web.yml")
    assert (unusable.code, unusable.err.startswith("the certificates cannot be used: ")) == (1, True), unusable.err


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
