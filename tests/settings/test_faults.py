"""Files that cannot be read, and several faults at once; `files/` holds the message of each fault."""

from pathlib import Path
from textwrap import dedent

import pytest

from exporter.settings.loading import SettingsError, load
from tests.settings.configurations import ACCOUNT, ENOUGH, refusal, write


def test_a_file_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, "[" * 5000) == ["config.yml: is nested too deeply"]


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
        "config.yml:4: accounts[0].base_url: is not a URL; expected one such as https://api.example.net",
        "config.yml:8: accounts[0].dns_zones.ids[1]: found 'x', expected a whole number",
        "config.yml:9: accounts[0].dns_zones.include[0]: found '(', expected a regular expression (missing ): ()",
        "config.yml:10: accounts[1].name: duplicate 'main', first in accounts[0]",
        "config.yml:13: accounts[1].api_key_file: b does not exist",
        "config.yml:15: web.listen: found '9877', expected host:port, [::1]:9877 or :9877",
        "config.yml:16: shard.index: found 3, but shard.total is 2 (0 to 1 are allowed)",
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
        ("laptop", "host name 'laptop' does not end in a number, as 'exporter-0' does"),
        ("exporter-3", "host name 'exporter-3' ends in 3, but shard.total is 3 (0 to 2 are allowed)"),
    ],
)
def test_a_host_name_without_a_fitting_ordinal_is_a_fault(tmp_path: Path, host_name: str, message: str) -> None:
    text = f"{ACCOUNT}shard:\n  total: 3\n  index: auto\n"
    assert refusal(tmp_path, text, host_name=host_name) == [f"config.yml:7: shard.index: {message}"]


def test_more_endpoints_than_can_be_run_are_refused_with_their_number(tmp_path: Path) -> None:
    endpoints = ", ".join(f"{{name: e{n}, path: /a, metrics: [{{name: m{n}, value: a}}]}}" for n in range(5001))
    message = "config.yml:5: endpoints: found 5001 items, expected at most 5000"
    assert refusal(tmp_path, f"{ACCOUNT}endpoints: [{endpoints}]\n") == [message]
