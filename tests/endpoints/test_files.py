"""Endpoints in configuration files; `tests/settings/files/endpoints.txt` holds the message of each fault."""

import re
from pathlib import Path

import pytest

from exporter.collectors.collector import TargetCollector
from exporter.counters.counting import digest_of
from exporter.wiring import from_settings
from tests.commands.shell import invoke
from tests.endpoints.configured import file_of
from tests.settings.configurations import ACCOUNT, load_text, refusal, write

HEAD = "- name: things\n  path: /things\n"
GOOD = "  metrics:\n    - {name: edge_things, value: Count}\n"


def test_faults_of_a_further_file_name_that_file_and_its_line(tmp_path: Path) -> None:
    write(tmp_path, "endpoints:\n  - name: things\n    path: things\n    metrics: {}\n", "things.yml")
    write(tmp_path, "endpoint: []\n", "other.yml")
    found = refusal(tmp_path, ACCOUNT + 'endpoint_files: [things.yml, other.yml, none.yml, "a\\0b"]\n')
    assert found == [
        (
            "config.yml:5: endpoint_files[3]: contains a line break or another control character; "
            "expected text of one line"
        ),
        "other.yml:1: endpoint: unknown key; did you mean 'endpoints'?",
        "things.yml:3: endpoints[0].path: does not start with '/'; expected a path such as /pullzone/{id}",
        "things.yml:4: endpoints[0].metrics: found a mapping, expected a list",
        "a\0b: cannot be read: no file can have this name",
        "none.yml: does not exist",
    ]


def test_endpoints_of_further_files_come_after_the_files_own_and_have_their_lines(tmp_path: Path) -> None:
    write(tmp_path, "endpoints: [{name: more, path: /b, metrics: [{name: edge_b, value: B}]}]\n", "more.yml")
    own = "endpoints: [{name: own, path: /a, metrics: [{name: edge_a, value: A}]}]\n"
    path = write(tmp_path, f"{ACCOUNT}{own}endpoint_files: [more.yml]\n")
    shown = invoke("config", "show", "--config", str(path), environ={}).out.replace(f"{tmp_path}/", "")
    places = {"own": "config.yml:5", "edge_a": "config.yml:5", "more": "more.yml:1", "edge_b": "more.yml:1"}
    assert re.findall(r'^endpoints.*name: "(\w+)"  # (.*)', shown, re.MULTILINE) == list(places.items())


def test_the_metric_reference_of_a_configuration_lists_its_endpoints(tmp_path: Path) -> None:
    path = write(tmp_path, file_of(f"{HEAD}  interval: 7m\n{GOOD}"))
    ended = invoke("metrics", "--config", str(path), environ={})
    assert (ended.code, ended.err) == (0, "")
    assert "## things\n\nPolled every 7m by default (`collectors.things.interval`) with `GET /things`." in ended.out
    assert "| `edge_things` | gauge |  | `account` | configured | Read from GET /things, polled. |" in ended.out


SPELT = "https://api.example.net", "/a?x={id}&y=2", "month: '{a: A, b: sum(B[*].C)}'", "label: kind, scale: 1"


@pytest.mark.parametrize(
    ("part", "spelt", "is_same"),
    [
        (0, "HTTPS://API.example.net:443/", True),
        (0, "https://edge.example.net", False),
        (1, "/a?y=2&x={id}", True),
        (1, "/a?y=3&x={id}", False),
        (2, "month: ' { \"b\" : sum(B[*].C) ,a: A} '", True),
        (2, "month: '{a: A, b: sum(B[*].D)}'", False),
        (2, "days: '{a: A, b: sum(B[*].C)}'", False),
        (3, "scale: 1.00, label: kind", True),
        (3, "scale: 1, label: type", False),
        (3, "scale: 2, label: kind", False),
    ],
)
def test_a_counter_counts_something_else_where_more_than_its_spelling_differs(
    tmp_path: Path, part: int, spelt: str, *, is_same: bool
) -> None:
    def digest(parts: tuple[str, ...]) -> bytes:
        url, path, expression, rest = parts
        text = ACCOUNT.replace("https://api.example.net", url)
        metric = f"{{name: edge_a_total, {expression}, {rest}}}"
        text += f"endpoints: [{{name: a, path: '{path}', ids: [1], metrics: [{metric}]}}]\n"
        settings = load_text(tmp_path, text)
        found = next(one for one in from_settings.collectors(settings) if one.name == "a")
        assert isinstance(found, TargetCollector)
        return digest_of(from_settings.addresses(settings)["main"], found.metrics[0].declared)

    assert (digest(SPELT) == digest((*SPELT[:part], spelt, *SPELT[part + 1 :]))) is is_same
