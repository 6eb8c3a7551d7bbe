"""`config show`."""

import json
from pathlib import Path

import pytest

from tests.commands.shell import invoke

KEY = "a-secret-key-that-nothing-shows"
CONFIGURATION = f"""\
accounts:
  - name: main
    base_url: https://api.example.net
    api_key: {KEY}
    timeout: 3s
  - name: "yes"
    base_url: https://api.example.org
    api_key: {KEY}
databases:
  - name: orders
    url: libsql://orders.example.net
    auth_token: {KEY}
    queries:
      - {{name: open, sql: SELECT 1 AS value, interval: 1m}}
      - {{name: closed, sql: "SELECT 2 AS value "}}
series:
  deny: ["edge_script_.*", edge_script_é, "a\\u202e\\x7f"]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The configuration file."""
    path = tmp_path / "edge.yml"
    path.write_text(CONFIGURATION)
    return path


def test_show_names_the_origin_of_each_value(config: Path) -> None:
    ended = invoke(
        "config", "show", "-o", "json", "--config", config, "--web.listen", ":99",
        environ={"EDGE_EXPORTER_LOG__LEVEL": "debug"},
    )  # fmt: skip
    found = {one["path"]: (one["value"], one["origin"]) for one in json.loads(ended.out)}
    assert found["accounts[0].timeout"] == ("3s", f"{config}:5")
    assert found["accounts[1].timeout"] == ("10s", "default")
    assert found["databases[0].queries[0].interval"] == ("1m", f"{config}:14")
    assert found["series.deny"] == (["edge_script_.*", "edge_script_é", "a\u202e\x7f"], f"{config}:17")
    assert found["web.listen"] == (":99", "--web.listen")
    assert found["log.level"] == ("debug", "EDGE_EXPORTER_LOG__LEVEL")
    assert found["collectors.scripts.interval"] == ("15m", "default")
    assert (ended.err, ended.code) == ("", 0)


def test_show_masks_secrets_and_its_text_has_a_line_for_each_setting(config: Path) -> None:
    text, as_json = (invoke("config", "show", "-o", form, "--config", config).out for form in ("text", "json"))
    for shown in (text, as_json):
        assert KEY not in shown
        assert "edge_script_é" in shown
        assert "\u202e" not in shown
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    assert lines["accounts[0].auth"] == '"access_key"  # default'
    assert {one["path"] for one in json.loads(as_json)} == lines.keys()


def test_check_prints_the_faults_of_a_configuration_as_json(config: Path) -> None:
    config.write_text(CONFIGURATION.replace("timeout: 3s", "timeout: 3"))
    ended = invoke("check", "--offline", "-o", "json", "--config", config)
    found = json.loads(ended.out)
    assert (found["ok"], ended.code) == (False, 1)
    assert [(fault["line"], fault["path"]) for fault in found["configuration"]] == [(5, "accounts[0].timeout")]
