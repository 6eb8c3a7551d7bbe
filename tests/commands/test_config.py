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


def test_the_file_of_init_polls_what_the_two_variables_do_and_shows_what_the_key_can_see(
    environ: dict[str, str], tmp_path: Path
) -> None:
    output = tmp_path / "new.yml"
    ended = invoke("config", "init", "--output", output, environ=environ)
    assert (ended.out, ended.code) == ("", 0)
    assert ended.err.startswith(f"{output}: 12 DNS zones, 4 scripts, 3 shield zones.")
    text = output.read_text()
    assert keys.API_KEY not in text
    (account,) = yaml.safe_load(text)["accounts"]
    assert account["dns_zones"] == {"discover": True, "exclude": []}
    assert account["scripts"] == account["shield_zones"] == {"discover": True}
    assert "rate_limits" not in account
    assert "      # 4 found:\n      #   - 7  # router\n" in text
    assert "      #   - {id: 3, shield_zone_id: 1}\n" in text
    assert "# To stop polling something, add it to exclude" in text
    by_file, by_variables = (
        json.loads(invoke("check", "-o", "json", *given, environ=environ).out)
        for given in ((f"--config={output}",), ())
    )
    assert (by_file["ok"], by_file["results"]) == (True, by_variables["results"])


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
