"""Endpoints in configuration files; `tests/settings/files/endpoints.txt` holds the message of each fault."""

from pathlib import Path

import pytest

from exporter.collectors.collector import TargetCollector
from exporter.collectors.endpoints.endpoint import Endpoint, EndpointMetric
from exporter.collectors.endpoints.names import wrong_names
from exporter.counters.counting import digest_of
from exporter.wiring.plans import collectors_of
from exporter.wiring.selections import addresses_of
from tests.commands.shell import invoke
from tests.dashboards.families import HEALTH
from tests.endpoints.configured import file_of
from tests.settings.configurations import ACCOUNT, load_text, write


def test_the_metric_reference_of_a_configuration_lists_its_endpoints(tmp_path: Path) -> None:
    text = "- name: things\n  path: /things\n  interval: 7m\n  metrics:\n    - {name: edge_things, value: Count}\n"
    path = write(tmp_path, file_of(f"{text}    - {{name: edge_most_things, help: One|two., value: Most}}\n"))
    ended = invoke("metrics", "--config", str(path), environ={})
    assert (ended.code, ended.err) == (0, "")
    assert "## things\n\nPolled every 7m by default (`collectors.things.interval`) with `GET /things`." in ended.out
    assert "| `edge_things` | gauge |  | `account` | configured | Read from GET /things, polled. |" in ended.out
    assert r"| One\|two. |" in ended.out


def test_no_endpoint_has_a_family_of_the_exporter_itself() -> None:
    metrics = [EndpointMetric.model_construct(name=name) for name in HEALTH]
    found = wrong_names([Endpoint.model_construct(name="things", metrics=metrics)])
    assert [message.partition(" is reserved ")[0] for _, message in found] == [f"'{name}'" for name in HEALTH]


SPELT = "https://api.example.net", "/a?x={id}&y=2", "month: '{a: A, b: sum(B[*].C)}'", "label: kind, scale: 1"


@pytest.mark.parametrize(
    ("part", "spelt", "is_same"),
    [
        (0, "HTTPS://API.example.net:443/", True),
        (0, "https://edge.example.net", False),
        (0, "https://api.example.net:8443", False),
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
        found = next(one for one in collectors_of(settings) if one.name == "a")
        assert isinstance(found, TargetCollector)
        return digest_of(addresses_of(settings)["main"], found.metrics[0].declared)

    assert (digest(SPELT) == digest((*SPELT[:part], spelt, *SPELT[part + 1 :]))) is is_same
