# ruff: noqa: E501 - a message stands on one line, as it is printed
"""Wrong endpoints: each is refused with its line, and with a message that says what to do."""

from pathlib import Path

import pytest

from exporter.settings.endpoint_names import misnamed
from tests.commands.shell import invoke
from tests.endpoints.configured import FIRST_LINE, faults, file_of
from tests.settings.configurations import ACCOUNT, load_text, refusal, write

HEAD = "- name: things\n  path: /things\n"
PART = "- name: things\n  path: /things/{id}\n  ids: [1]\n"
GOOD = "  metrics:\n    - {name: edge_things, value: Count}\n"
METRICS = "endpoints[0].metrics[0]"

WRONG = {
    "an expression that does not parse": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: 'Items[?'}}\n",
        9,
        f"{METRICS}.value: found 'Items[?', expected a JMESPath expression (Invalid jmespath expression: Incomplete expression)",
    ),
    "an unknown function": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: size(Items)}}\n",
        9,
        f"{METRICS}.value: found 'size(Items)', expected a JMESPath expression (there is no function size())",
    ),
    "too many arguments": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: 'sum(A, B)'}}\n",
        9,
        f"{METRICS}.value: found 'sum(A, B)', expected a JMESPath expression (sum() takes 1 argument(s), found 2)",
    ),
    "an expression that is nested without end": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: '{'[' * 400}A{']' * 400}'}}\n",
        9,
        f"{METRICS}.value: found '{'[' * 60}…', expected a JMESPath expression (is nested too deeply)",
    ),
    "an expression that is very long": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: {'a.' * 600}a}}\n",
        9,
        f"{METRICS}.value: found '{'a.' * 30}…', expected a JMESPath expression (is longer than 1000 characters)",
    ),
    "no expression": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: [Count]}}\n",
        9,
        f"{METRICS}.value: found a list, expected a JMESPath expression such as Totals.Bandwidth",
    ),
    "another host": (
        f"- name: things\n  path: https://evil.example/things\n{GOOD}",
        7,
        "endpoints[0].path: names a host; expected a path on the account's base_url, such as /pullzone/{id}",
    ),
    "another host without a scheme": (
        f"- name: things\n  path: //evil.example/things\n{GOOD}",
        7,
        "endpoints[0].path: names a host; expected a path on the account's base_url, such as /pullzone/{id}",
    ),
    "a path that goes up": (
        f"- name: things\n  path: /a/%2e%2e/b\n{GOOD}",
        7,
        "endpoints[0].path: holds '.' or '..', which leads to another path",
    ),
    "a relative path": (
        f"- name: things\n  path: things\n{GOOD}",
        7,
        "endpoints[0].path: does not start with '/'; expected a path such as /pullzone/{id}",
    ),
    "a path with an unknown placeholder": (
        f"- name: things\n  path: /things/{{name}}\n{GOOD}",
        7,
        "endpoints[0].path: holds an unknown placeholder; expected {id}, {today} or {days_ago:30}",
    ),
    "a header in a path": (
        f'- name: things\n  path: "/things\\r\\nHost: evil"\n{GOOD}',
        7,
        "endpoints[0].path: holds blanks, '\\', '#' or control characters, or is too long",
    ),
    "an id of nothing": (
        f"- name: things\n  path: /things/{{id}}\n{GOOD}",
        7,
        "endpoints[0].path: contains {id}; expected each, ids or kind",
    ),
    "targets that are all the same": (
        f"- name: things\n  path: /things\n  ids: [1, 2]\n{GOOD}",
        7,
        "endpoints[0].path: contains no {id}, so that all targets of ids would be the same",
    ),
    "targets of two sources": (
        f"{PART}  kind: dns_zone\n{GOOD}",
        9,
        "endpoints[0].kind: set together with ids; expected one of each, ids, kind",
    ),
    "a target twice": (
        f"- name: things\n  path: /things/{{id}}\n  ids: [1, a, 1]\n{GOOD}",
        8,
        "endpoints[0].ids[2]: duplicate '1', first in ids[0]",
    ),
    "a kind that there is not": (
        f"- name: things\n  path: /things/{{id}}\n  kind: dns_zones\n{GOOD}",
        8,
        "endpoints[0].kind: there are no targets of the kind 'dns_zones'; did you mean 'dns_zone'?; known: dns_zone, script, shield_zone, rate_limit, access_list",
    ),
    "a kind of its own that is there already": (
        f"{PART}  label: script\n{GOOD}",
        9,
        "endpoints[0].label: 'script' is already a kind of target; expected another label, or kind: script",
    ),
    "a collector's name": (
        f"- name: scripts\n  path: /things\n{GOOD}",
        6,
        "endpoints[0].name: 'scripts' is taken: the exporter has a collector or an operation of that name",
    ),
    "no name that a key may be": (
        f"- name: Pull Zones\n  path: /things\n{GOOD}",
        6,
        "endpoints[0].name: found 'Pull Zones', expected a name of small letters, digits and '_' that starts with a letter",
    ),
    "one name twice": (
        f"{HEAD}{GOOD}- name: things\n  path: /others\n  metrics: [{{name: edge_others, value: B}}]\n",
        10,
        "endpoints[1].name: duplicate 'things', first in endpoints[0]",
    ),
    "a family of a collector that runs": (
        f"{HEAD}  metrics:\n    - {{name: edge_dns_queries_total, days: Chart}}\n",
        9,
        f"{METRICS}.name: 'edge_dns_queries_total' is a family of the collector dns_statistics, which can be disabled",
    ),
    "a family that a counter becomes in OpenMetrics": (
        f"{HEAD}  metrics:\n    - {{name: edge_dns_queries, value: Count}}\n",
        9,
        f"{METRICS}.name: 'edge_dns_queries' is a family of the collector dns_statistics, which can be disabled",
    ),
    "a family of another endpoint": (
        f"{HEAD}{GOOD}- name: others\n  path: /others\n{GOOD}",
        13,
        "endpoints[1].metrics[0].name: 'edge_things' is a family of endpoints[0]",
    ),
    "a family of the exporter itself": (
        f"{HEAD}  metrics:\n    - {{name: edge_target_up, value: Count}}\n",
        9,
        f"{METRICS}.name: 'edge_target_up' is reserved for the exporter or Prometheus",
    ),
    "a family twice": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: A}}\n    - {{name: edge_things, value: B}}\n",
        10,
        "endpoints[0].metrics[1].name: duplicate 'edge_things', first in metrics[0]",
    ),
    "no metric name": (
        f"{HEAD}  metrics:\n    - {{name: edge-things, value: Count}}\n",
        9,
        f"{METRICS}.name: found 'edge-things', expected a metric name of letters, digits, '_' and ':' that does not start with a digit",
    ),
    "a counter that is not called one": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, days: Chart}}\n",
        9,
        f"{METRICS}.name: 'edge_things' uses days, so the name must end with _total",
    ),
    "a gauge that is called a counter": (
        f"{HEAD}  metrics:\n    - {{name: edge_things_total, value: Count}}\n",
        9,
        f"{METRICS}.name: 'edge_things_total' ends with _total, which is for days and month",
    ),
    "two sources of one metric": (
        f"{HEAD}  metrics:\n    - name: edge_things\n      value: A\n      days: B\n",
        11,
        f"{METRICS}.days: found value and days, expected one of value, days, month, info",
    ),
    "a label that the target has": (
        f"{PART}  label: thing\n  metrics:\n    - {{name: edge_things, value: A, label: thing_id}}\n",
        11,
        f"{METRICS}.label: 'thing_id' is already a label of the target",
    ),
    "a label twice": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: A, label: account}}\n",
        9,
        f"{METRICS}.label: 'account' is taken: the series already have that label, or Prometheus uses it",
    ),
    "a secret as an info": (
        f"{HEAD}  metrics:\n    - name: edge_things_info\n      info: {{zone: ZoneSecurityKey}}\n",
        10,
        f"{METRICS}.info.zone: reads ZoneSecurityKey, which is named like a secret and cannot be a label",
    ),
    "a secret as a name": (
        f"- name: things\n  path: /things/{{id}}\n  each:\n    list: /things\n    items: '@'\n    id: Id\n    name: Password\n{GOOD}",
        12,
        "endpoints[0].each.name: reads Password, which is named like a secret and cannot be a label",
    ),
    "a secret as the values of a label": (
        f"{HEAD}  metrics:\n    - name: edge_things\n      value: 'Users[*].[ApiToken, Count]'\n      label: user\n",
        10,
        f"{METRICS}.value: reads ApiToken, which is named like a secret and cannot be a label",
    ),
    "pages without their number": (
        f"- name: things\n  path: /things/{{id}}\n  each:\n    list: /things\n    items: Items\n    id: Id\n    more: HasMoreItems\n{GOOD}",
        12,
        "endpoints[0].each.more: needs page, the query parameter of the page's number",
    ),
    "a scale of nothing": (
        f"{HEAD}  metrics:\n    - {{name: edge_things, value: Count, scale: 0}}\n",
        9,
        f"{METRICS}.scale: found '0', expected more than 0",
    ),
    "a method": (f"{HEAD}  method: DELETE\n{GOOD}", 8, "endpoints[0].method: unknown key"),
    "an interval of nothing": (
        f"{HEAD}  interval: 0s\n{GOOD}",
        8,
        "endpoints[0].interval: found '0s', expected at least 1s",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("endpoints", "line", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_endpoint_is_refused_by_its_line(tmp_path: Path, endpoints: str, line: int, message: str) -> None:
    assert faults(tmp_path, endpoints) == [f"config.yml:{line}: {message}"]


def test_the_first_line_of_these_files_is_the_one_that_they_count_from() -> None:
    assert ACCOUNT.count("\n") + 2 == FIRST_LINE


def test_a_collectors_section_must_be_a_collectors_or_an_endpoints(tmp_path: Path) -> None:
    text = f"{ACCOUNT}endpoints:\n{HEAD}{GOOD}collectors:\n  thinks: {{interval: 5m}}\n".replace("\n-", "\n  -")
    text = text.replace("\n  path", "\n    path").replace("\n  metrics", "\n    metrics")
    assert refusal(tmp_path, text) == ["config.yml:11: collectors.thinks: unknown key; did you mean 'things'?"]


def test_an_endpoint_is_not_stale_before_it_is_polled_again(tmp_path: Path) -> None:
    text = (
        f"{ACCOUNT}endpoints: [{{name: things, path: /things, interval: 1h, "
        "metrics: [{name: edge_things, value: A}]}]\n"
        "collectors:\n  things: {stale_after: 30m}\n"
    )
    assert refusal(tmp_path, text) == [
        "config.yml:7: collectors.things.stale_after: found 30m, expected at least the interval (1h)"
    ]


def test_faults_of_a_further_file_name_that_file_and_its_line(tmp_path: Path) -> None:
    write(tmp_path, "endpoints:\n  - name: things\n    path: things\n    metrics: []\n", "things.yml")
    write(tmp_path, "endpoint: []\n", "other.yml")
    found = refusal(tmp_path, f"{ACCOUNT}endpoint_files: [things.yml, other.yml, none.yml]\n")
    assert found == [
        "other.yml:1: endpoint: unknown key; did you mean 'endpoints'?",
        "things.yml:3: endpoints[0].path: does not start with '/'; expected a path such as /pullzone/{id}",
        "things.yml:4: endpoints[0].metrics: is empty; expected metrics",
        "none.yml: does not exist",
        "other.yml: endpoints: expected a list of endpoints",
    ]


def test_endpoints_of_further_files_come_after_the_files_own(tmp_path: Path) -> None:
    write(tmp_path, "endpoints: [{name: more, path: /b, metrics: [{name: edge_b, value: B}]}]\n", "more.yml")
    own = "endpoints: [{name: own, path: /a, metrics: [{name: edge_a, value: A}]}]\n"
    loaded = load_text(tmp_path, f"{ACCOUNT}{own}endpoint_files: [more.yml]\n")
    assert [endpoint.name for endpoint in loaded.endpoints] == ["own", "more"]


def test_the_metric_reference_of_a_configuration_lists_its_endpoints(tmp_path: Path) -> None:
    path = write(tmp_path, file_of(f"{HEAD}  interval: 7m\n{GOOD}"))
    ended = invoke("metrics", "--config", str(path), environ={})
    assert (ended.code, ended.err) == (0, "")
    assert "## things\n\nPolled every 7m by default (`collectors.things.interval`) with `GET /things`." in ended.out
    assert "| `edge_things` | gauge |  | `account` | Read from GET /things, polled. |" in ended.out


def test_names_against_the_conventions_are_warnings(tmp_path: Path) -> None:
    names = ("edge_things_ms", "edge_thingsOpen", "edge_things_count", "edge_gauge_things", "edge:things")
    metrics = "".join(f"    - {{name: '{name}', help: H., value: A}}\n" for name in names)
    metrics += "    - {name: edge_things, value: A}\n"
    loaded = load_text(tmp_path, file_of(f"{HEAD}  metrics:\n{metrics}"))
    assert [message for _, message in misnamed(loaded.endpoints)] == [
        "'edge_things_ms' is in ms; expected the base unit seconds, with scale",
        "'edge_thingsOpen' is written in camelCase; expected snake_case",
        "'edge_things_count' ends with _count, which is reserved for histograms",
        "'edge_gauge_things' contains the name of a metric type, gauge",
        "'edge:things' contains ':', which is reserved for recording rules",
        "'edge_things' has no help text",
    ]
