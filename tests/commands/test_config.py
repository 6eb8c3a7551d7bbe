"""`config init` and `config show`."""

import json
from pathlib import Path

import pytest
import yaml

from exporter.sandbox import keys
from tests.commands.shell import invoke

KEY = "a-secret-key-that-nothing-shows"
CONFIGURATION = f"""\
accounts:
  - name: main
    base_url: https://api.example.net
    api_key: {KEY}
    timeout: 3s
    proxy: http://user:password@proxy.example.net:3128
  - name: other
    base_url: https://api.example.org
    api_key: {KEY}
databases:
  - name: orders
    url: libsql://orders.example.net?authToken={KEY}
    queries:
      - {{name: open, sql: SELECT 1 AS value, interval: 1m}}
      - {{name: closed, sql: SELECT 2 AS value}}
series:
  deny: ["edge_script_.*"]
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
    assert found["series.deny"] == (["edge_script_.*"], f"{config}:17")
    assert found["web.listen"] == (":99", "--web.listen")
    assert found["log.level"] == ("debug", "EDGE_EXPORTER_LOG__LEVEL")
    assert found["collectors.scripts.interval"] == ("15m", "default")
    assert (ended.err, ended.code) == ("", 0)


@pytest.mark.parametrize("form", ["text", "json"])
def test_show_masks_secrets(config: Path, form: str) -> None:
    shown = invoke("config", "show", "-o", form, "--config", config).out
    assert KEY not in shown
    assert "password" not in shown
    assert "http://***@proxy.example.net:3128" in shown


def test_what_show_prints_is_yaml_with_the_same_values(config: Path) -> None:
    text = invoke("config", "show", "--config", config).out
    as_json = json.loads(invoke("config", "show", "-o", "json", "--config", config).out)
    values = {one["path"]: one["value"] for one in as_json}
    shown = yaml.safe_load(text)
    assert [account["name"] for account in shown["accounts"]] == ["main", "other"]
    assert shown["accounts"][0]["budget"]["max_in_flight"] == values["accounts[0].budget.max_in_flight"]
    assert [query["name"] for query in shown["databases"][0]["queries"]] == ["open", "closed"]
    assert shown["collectors"]["scripts"] == {"enabled": True, "interval": "15m", "stale_after": None}


def test_show_names_every_fault_of_a_wrong_configuration(config: Path) -> None:
    config.write_text(CONFIGURATION.replace("timeout: 3s", "timeout: 3"))
    ended = invoke("config", "show", "--config", config)
    expected = f"{config}:5: accounts[0].timeout: found '3', expected a duration with its unit: 3s, 3m or 3h\n"
    assert (ended.out, ended.err, ended.code) == ("", expected, 1)


def test_init_writes_a_line_for_each_resource_that_the_key_can_see(environ: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "new.yml"
    ended = invoke("config", "init", "--output", output, environ=environ)
    assert (ended.out, ended.code) == ("", 0)
    assert ended.err.startswith(f"{output}: 12 DNS zones, 4 scripts, 3 shield zones.")
    text = output.read_text()
    assert keys.API_KEY not in text
    (account,) = yaml.safe_load(text)["accounts"]
    assert (account["dns_zones"]["discover"], len(account["dns_zones"]["ids"])) == (False, 12)
    assert "        - 7  # router\n" in text
    assert account["shield_zones"]["ids"] == [1, 2, 3]
    checked = invoke("check", "--config", output, "-o", "json", environ=environ)
    found = json.loads(checked.out)
    assert (found["ok"], found["faults"], checked.code) == (True, 0, 0)
    assert {row["target"] for row in found["results"]} >= {"script/7", "shield_zone/1"}


def test_init_overwrites_nothing(environ: dict[str, str], config: Path) -> None:
    ended = invoke("config", "init", "--output", config, environ=environ)
    assert (ended.out, ended.code) == ("", 2)
    assert "is there already" in ended.err
    assert config.read_text() == CONFIGURATION


def test_init_with_a_wrong_key_says_so_and_writes_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "new.yml"
    ended = invoke("config", "init", "-o", output, environ=environ | {"EDGE_EXPORTER_API_KEY": "wrong"})
    assert (ended.code, output.exists()) == (1, False)
    assert "401" in ended.err


def test_check_prints_the_faults_of_a_configuration_as_json(config: Path) -> None:
    config.write_text(CONFIGURATION.replace("timeout: 3s", "timeout: 3"))
    ended = invoke("check", "--offline", "-o", "json", "--config", config)
    found = json.loads(ended.out)
    assert (found["ok"], ended.code) == (False, 1)
    assert [(fault["line"], fault["path"]) for fault in found["configuration"]] == [(5, "accounts[0].timeout")]
