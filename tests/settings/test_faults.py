# ruff: noqa: E501 - a message stands on one line, as it is printed
"""Wrong files, each with its literal message."""

from pathlib import Path
from textwrap import dedent

import pytest

from exporter.settings.loading import SettingsError, load
from tests.settings.configurations import ACCOUNT, ENOUGH, refusal, write

HEAD = 5  # the first line after ACCOUNT


def in_account(line: str) -> str:
    """Return a file whose account has this line as its fifth."""
    return f"{ACCOUNT}    {line}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("timeuot: 10s", "accounts[0].timeuot: unknown key; did you mean 'timeout'?"),
        ("Timeout: 10s", "accounts[0].Timeout: unknown key; did you mean 'timeout'?"),
        ("budgets: {}", "accounts[0].budgets: unknown key; did you mean 'budget'?"),
        ("level: info", "accounts[0].level: unknown key; did you mean 'log.level'?"),
        ("qqqq: hunter2", "accounts[0].qqqq: unknown key"),
        ('"a b": 1', 'accounts[0]["a b"]: unknown key'),
        ("timeout: soon", "accounts[0].timeout: found 'soon', expected a duration such as 30s, 5m or 1h30m"),
        ("timeout: -1s", "accounts[0].timeout: found '-1s', expected a duration such as 30s, 5m or 1h30m"),
        ("timeout: 1ms", "accounts[0].timeout: found '1ms', expected at least 100ms"),
        ("timeout: 1h", "accounts[0].timeout: found '1h', expected at most 10m"),
        ("timeout: [10s]", "accounts[0].timeout: found a list, expected a duration such as 30s, 5m or 1h30m"),
        ("auth: basic", "accounts[0].auth: expected one of access_key, bearer"),
        ("budget: 10", "accounts[0].budget: found text, expected a mapping"),
        ("budget: {requests_per_second: 0}", "accounts[0].budget.requests_per_second: found '0', expected more than 0"),
        ("budget: {requests_per_second: x}", "accounts[0].budget.requests_per_second: found 'x', expected a number"),
        ("budget: {requests_per_second: nan}", "accounts[0].budget.requests_per_second: found 'nan', expected a number"),
        ("budget: {requests_per_second: .inf}", "accounts[0].budget.requests_per_second: found '.inf', expected a number"),
        ("budget: {max_in_flight: 0}", "accounts[0].budget.max_in_flight: found '0', expected at least 1"),
        ("budget: {max_in_flight: 1.5}", "accounts[0].budget.max_in_flight: found '1.5', expected a whole number"),
        ("budget: {max_in_flight: 5000}", "accounts[0].budget.max_in_flight: found '5000', expected at most 4096"),
        ("dns_zones: {discover: maybe}", "accounts[0].dns_zones.discover: found 'maybe', expected true or false"),
        ("dns_zones: {ids: 101}", "accounts[0].dns_zones.ids: found text, expected a list"),
        ("dns_zones: {ids: [1, x]}", "accounts[0].dns_zones.ids[1]: found 'x', expected a whole number"),
        ("dns_zones: {ids: [-1]}", "accounts[0].dns_zones.ids[0]: found '-1', expected at least 1"),
        ("dns_zones: {ids: [9223372036854775808]}", "accounts[0].dns_zones.ids[0]: found '9223372036854775808', expected at most 9223372036854775807"),
        ("dns_zones: {include: ['(']}", "accounts[0].dns_zones.include[0]: found '(', expected a regular expression (missing ): ()"),
        ("dns_zones: {exclude: '^a'}", "accounts[0].dns_zones.exclude: found text, expected a list"),
        ("scripts: {read: post}", "accounts[0].scripts.read: found 'post', expected one of get, update"),
        ("scripts: {monthly_budget_dollars: {router: much}}", "accounts[0].scripts.monthly_budget_dollars.router: found 'much', expected a number"),
        ("scripts: {monthly_budget_dollars: {router: -1}}", "accounts[0].scripts.monthly_budget_dollars.router: found '-1', expected at least 0"),
        ("rate_limits: [{name: login}]", "accounts[0].rate_limits[0].id: missing; expected the rate limit's id"),
        ("rate_limits: [7]", "accounts[0].rate_limits[0]: found text, expected a mapping"),
        ("rate_limits: [{id: 7}, {id: 8}, {id: 07}]", "accounts[0].rate_limits[2].id: duplicate '7', first in rate_limits[0]"),
        ("access_lists: [{shield_zone_id: 3, id: 1}, {shield_zone_id: 4, id: 1}]", "accounts[0].access_lists[1].id: duplicate '1', first in access_lists[0]"),
        ("access_lists: [{id: 1}]", "accounts[0].access_lists[0].shield_zone_id: missing; expected the id of the shield zone that it belongs to"),
        ("waf_custom_rules: [{id: 1}, {id: 1}]", "accounts[0].waf_custom_rules[1].id: duplicate '1', first in waf_custom_rules[0]"),
        ("images: [{registry_id: a, namespace: b, name: c}, {registry_id: a, namespace: b, name: c}]", "accounts[0].images[1]: duplicate 'a/b/c', first in images[0]"),
        ("images: [{registry_id: a, namespace: b}]", "accounts[0].images[0].name: missing; expected the image's name"),
        ("searches: ['']", "accounts[0].searches[0]: is empty; expected text"),
        ('searches: ["a\\nb"]', "accounts[0].searches[0]: contains a line break or another control character; expected text of one line"),
        ("searches: [{a: b}]", "accounts[0].searches[0]: found a mapping, expected text"),
        ("proxy: socks5://proxy:1080", "accounts[0].proxy: found the scheme 'socks5', expected one of http, https"),
        ("proxy: http://proxy/path", "accounts[0].proxy: contains more than a host and a port; expected a URL such as http://proxy.example.net:3128"),
        ("ca_file: ''", "accounts[0].ca_file: found '', expected a file's name"),
    ],
)  # fmt: skip
def test_a_wrong_account_is_refused_by_line_and_path(tmp_path: Path, line: str, message: str) -> None:
    assert refusal(tmp_path, in_account(line)) == [f"config.yml:5: {message}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("web: {listen: 9877}", "web.listen: found '9877', expected host:port, [::1]:9877 or :9877"),
        ("web: {listen: 'host:99999'}", "web.listen: found 'host:99999', expected a port from 0 to 65535 after the ':'"),
        ("web: {route_prefix: edge}", "web.route_prefix: found 'edge', expected a path such as / or /edge"),
        ("web: [a]", "web: found a list, expected a mapping"),
        ("log: {level: loud}", "log.level: found 'loud', expected one of debug, info, warning, error"),
        ("log: {format: xml}", "log.format: found 'xml', expected one of auto, console, json"),
        ("logs: {}", "logs: unknown key; did you mean 'log'?"),
        ("listen: ':1'", "listen: unknown key; did you mean 'web.listen'?"),
        ("account: {}", "account: unknown key; did you mean 'accounts'?"),
        ("series: {max_per_family: 0}", "series.max_per_family: found '0', expected at least 1"),
        ("series: {deny: ['[']}", "series.deny[0]: found '[', expected a regular expression (missing ]: [)"),
        ("state: {retention: 0}", "state.retention: found '0', expected at least 1s"),
        (
            "state: {retention: 5}",
            "state.retention: found '5', expected a duration with its unit: 5s, 5m or 5h",
        ),
        ("state: {path: ''}", "state.path: found '', expected a file's name"),
        ("shard: {index: 2, total: 2}", "shard.index: found 2, expected less than the total (2)"),
        ("shard: {index: first}", "shard.index: found 'first', expected a whole number from 0, auto or lease"),
        ("shard: {total: 0}", "shard.total: found '0', expected at least 1"),
        ("collectors: {scripts: {interval: 500ms}}", "collectors.scripts.interval: found '500ms', expected at least 1s"),
        ("collectors: {scripts: {stale_after: 5m}}", "collectors.scripts.stale_after: found 5m, expected at least the interval (15m)"),
        ("collectors: {scripts: 5m}", "collectors.scripts: found text, expected a mapping"),
        ("collectors: {dns_statistic: {}}", "collectors.dns_statistic: unknown key; did you mean 'dns_statistics'?"),
        ("collectors: {scripts: {enable: true}}", "collectors.scripts.enable: unknown key; did you mean 'enabled'?"),
    ],
)  # fmt: skip
def test_a_wrong_section_is_refused_by_line_and_path(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, f"{ACCOUNT}{text}\n") == [f"config.yml:{HEAD}: {message}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: ''", "databases[0].name: found '', expected a name of letters, digits, '_', '-' and '.'"),
        ("name: a b", "databases[0].name: found 'a b', expected a name of letters, digits, '_', '-' and '.'"),
        ("queries: [{sql: SELECT 1}]", "databases[0].queries[0].name: missing; expected the query's name; its metric is edge_database_<name>"),
        ("queries: [{name: n}]", "databases[0].queries[0].sql: missing; expected one reading SQL statement"),
        ("queries: [{name: n, sql: ' '}]", "databases[0].queries[0].sql: is empty; expected an SQL statement"),
        ("queries: [{name: 1n, sql: x}]", "databases[0].queries[0].name: found '1n', expected a name of letters, digits and '_' that does not start with a digit, best in lower case"),
        ("queries: [{name: query_rows, sql: x}]", "databases[0].queries[0].name: 'query_rows' is taken: the exporter has a metric edge_database_query_rows of its own"),
        ("queries: [{name: n, sql: x}, {name: n, sql: x}]", "databases[0].queries[1].name: duplicate 'n', first in databases[0].queries[0]"),
        ("queries: [{name: n, sql: x, labels: [a-b]}]", "databases[0].queries[0].labels[0]: found 'a-b', expected a label name of letters, digits and '_' that does not start with a digit"),
        ("queries: [{name: n, sql: x, labels: [database]}]", "databases[0].queries[0].labels[0]: 'database' is taken: every query's metric already has that label"),
        ("queries: [{name: n, sql: x, labels: [__a]}]", "databases[0].queries[0].labels[0]: '__a' starts with '__', which Prometheus reserves"),
        ("queries: [{name: n, sql: x, labels: [a, a]}]", "databases[0].queries[0].labels[1]: duplicate 'a', first in labels[0]"),
        ("queries: [{name: n, sql: x, labels: [value]}]", "databases[0].queries[0].labels[0]: 'value' is the value's column, which cannot also be a label"),
        ("queries: [{name: n, sql: x, value: v, labels: [v]}]", "databases[0].queries[0].labels[0]: 'v' is the value's column, which cannot also be a label"),
        ("queries: [{name: n, sql: x, interval: 500ms}]", "databases[0].queries[0].interval: found '500ms', expected at least 1s"),
        ("queries: [{name: n, sql: x, max_rows: 0}]", "databases[0].queries[0].max_rows: found '0', expected at least 1"),
        ("url: 'libsql://x?authToken=hunter2'", "databases[0].url: contains an authToken as well as auth_token or auth_token_file; expected one"),
        ("url: 'libsql://x?tls=0'", "databases[0].url: contains a query other than authToken, or a fragment; expected a URL such as libsql://abc.lite.example.net"),
        ("url: 'libsql://me:hunter2@x'", "databases[0].url: contains a user name or a password; expected a URL without, and the token in auth_token"),
        ("url: 'sqlite:x.db'", "databases[0].url: expected a URL such as libsql://abc.lite.example.net"),
        ("url: 'wss://x'", "databases[0].url: found the scheme 'wss', expected one of libsql, https, http"),
    ],
)  # fmt: skip
def test_a_wrong_database_is_refused_by_line_and_path(tmp_path: Path, text: str, message: str) -> None:
    keys = {"name": "name: orders", "url": "url: https://x", "auth_token": "auth_token: hunter2"}
    keys[text.partition(":")[0]] = text
    assert refusal(tmp_path, f"databases:\n  - {{{', '.join(keys.values())}}}\n") == [f"config.yml:2: {message}"]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["config.yml: is empty; expected keys such as 'accounts:'"]),
        ("# nothing\n", ["config.yml: is empty; expected keys such as 'accounts:'"]),
        ("~\n", ["config.yml: is empty; expected keys such as 'accounts:'"]),
        ("- a\n", ["config.yml:1: found a list, expected keys such as 'accounts:'"]),
        ("\nhunter2\n", ["config.yml:2: found text, expected keys such as 'accounts:'"]),
        ("web:\n\tlisten: ':1'\n", ["config.yml:2: a tab in the indentation; use spaces"]),
        ("web: {listen: ':1'\n", ["config.yml:1: a mapping that starts with '{' does not end; expected ',' or '}'"]),
        ("a: [1, 2\nb: 3\n", ["config.yml:1: a list that starts with '[' does not end; expected ',' or ']'"]),
        ("log:\n  level: info\n format: json\n", ["config.yml:3: the indentation does not fit the lines above"]),
        ("log: level: info\n", ["config.yml:1: a ':' is not allowed here; quote the value, or look at the indentation"]),
        ("log:\n  level: 'info\n", ["config.yml:2: a quoted text that starts here never ends"]),
        ("log: *other\n", ["config.yml:1: a value starts with '*' (a YAML alias) and no anchor has that name; quote it"]),
        ("log: @auto\n", ["config.yml:1: found character '@' that cannot start any token; quote the value"]),
        ("log: a\n---\nlog: b\n", ["config.yml:2: a second YAML document starts here; expected one"]),
        ("log\nweb: x\n", ["config.yml:2: a ':' is not allowed here; quote the value, or look at the indentation"]),
        ("web:\n  listen ':1'\n  a: b\n", ["config.yml:3: a ':' is not allowed here; quote the value, or look at the indentation"]),
        ("a: \x01\n", ["config.yml:1: contains a control character, which YAML does not allow"]),
        ("[" * 5000, ["config.yml: is nested too deeply"]),
    ],
)  # fmt: skip
def test_a_file_that_is_no_yaml_mapping_says_so_in_our_words(tmp_path: Path, text: str, faults: list[str]) -> None:
    assert refusal(tmp_path, text) == faults


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("log: {level: info}\nlog: {level: debug}\n", "config.yml:6: log: duplicate key, first on line 5"),
        ("log:\n  level: info\n  level: debug\n", "config.yml:7: log.level: duplicate key, first on line 6"),
        ("log: !secret {}\n", "config.yml:5: log: starts with '!' (a YAML tag), which means nothing here; quote it"),
        ("? [a]\n: b\n", "config.yml:5: a key is a list or a mapping; expected text"),
        ("log: &a {level: info, more: *a}\n", "config.yml:5: log.more: contains itself through a YAML alias"),
    ],
)
def test_what_is_yaml_but_means_nothing_is_told_beside_the_rest(tmp_path: Path, text: str, fault: str) -> None:
    faults = refusal(tmp_path, f"{ACCOUNT}{text}web: {{listen: x}}\n")
    assert fault in faults
    assert faults[-1].endswith("web.listen: found 'x', expected host:port, [::1]:9877 or :9877")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path / "none.yml", None, {})
    assert str(refused.value) == f"{tmp_path}/none.yml: does not exist"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, None, {})
    assert str(refused.value) == f"{tmp_path}: is a directory, expected a file"


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_bytes(b"log:\n  level: \xff\n")
    with pytest.raises(SettingsError) as refused:
        load(path, None, {})
    assert str(refused.value) == f"{path}:2: is not UTF-8 text"


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text(ACCOUNT, encoding="utf-8-sig")
    assert load(path, None, {}).accounts[0].name == "main"


def test_an_unreadable_file_does_not_hide_what_is_wrong_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path / "none.yml", None, {**ENOUGH, "EDGE_EXPORTER_LOG_LEVEL": "info"})
    assert [fault.message for fault in refused.value.faults] == [
        "does not exist",
        "unknown variable; did you mean 'EDGE_EXPORTER_LOG__LEVEL'?",
    ]


def test_every_fault_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    text = """\
        accounts:
          - name: main
            timeuot: 10s
            base_url: api.example.net
            dns_zones:
              ids:
                - 1
                - x
              include: ["("]
          - name: main
            base_url: https://x
            api_key: a
            api_key_file: b
        web:
          listen: 9877
        shard: {index: 3, total: 2}
        databases:
          - {name: a, url: "https://x", auth_token: t, queries: [{name: n, sql: x, max_row: 1}]}
          - {name: b, url: "https://x", auth_token: t, queries: [{name: n, sql: x}]}
        """
    assert refusal(tmp_path, dedent(text), {"--log.level": "loud"}, {"EDGE_EXPORTER_LOG_FORMAT": "json"}) == [
        "config.yml:2: accounts[0].api_key: missing; expected api_key or api_key_file",
        "config.yml:3: accounts[0].timeuot: unknown key; did you mean 'timeout'?",
        "config.yml:4: accounts[0].base_url: found 'api.example.net', expected a URL such as https://api.example.net",
        "config.yml:8: accounts[0].dns_zones.ids[1]: found 'x', expected a whole number",
        "config.yml:9: accounts[0].dns_zones.include[0]: found '(', expected a regular expression (missing ): ()",
        "config.yml:10: accounts[1].name: duplicate 'main', first in accounts[0]",
        "config.yml:13: accounts[1].api_key_file: b does not exist",
        "config.yml:15: web.listen: found '9877', expected host:port, [::1]:9877 or :9877",
        "config.yml:16: shard.index: found 3, expected less than the total (2)",
        "config.yml:18: databases[0].queries[0].max_row: unknown key; did you mean 'max_rows'?",
        "config.yml:19: databases[1].queries[0].name: duplicate 'n', first in databases[0].queries[0]",
        "--log.level: log.level: found 'loud', expected one of debug, info, warning, error",
        "EDGE_EXPORTER_LOG_FORMAT: unknown variable; did you mean 'EDGE_EXPORTER_LOG__FORMAT'?",
    ]


def test_a_long_value_is_shortened(tmp_path: Path) -> None:
    (fault,) = refusal(tmp_path, f"{ACCOUNT}log: {{level: {'x' * 200}}}\n")
    assert fault == f"config.yml:5: log.level: found '{'x' * 60}…', expected one of debug, info, warning, error"


def test_the_ordinal_of_the_host_name_is_the_shard(tmp_path: Path) -> None:
    path = write(tmp_path, f"{ACCOUNT}shard: {{index: auto, total: 3}}\n")
    shard = load(path, None, {}, host_name="edge-exporter-2.svc").shard
    assert shard.resolve("edge-exporter-2.svc") == 2


@pytest.mark.parametrize(
    ("host_name", "message"),
    [
        ("laptop", "the host name 'laptop' does not end in an ordinal, as in 'exporter-0'"),
        ("exporter-3", "the host name 'exporter-3' says 3, expected less than the total (3)"),
    ],
)
def test_a_host_name_without_a_fitting_ordinal_is_a_fault(tmp_path: Path, host_name: str, message: str) -> None:
    text = f"{ACCOUNT}shard:\n  total: 3\n  index: auto\n"
    assert refusal(tmp_path, text, host_name=host_name) == [f"config.yml:7: shard.index: {message}"]
