"""`config init` and `config show`."""

import json
import re
from pathlib import Path

import pytest
import yaml

from exporter.commands.config.init import document
from exporter.sandbox import keys
from exporter.settings.loading import load
from exporter.targets.target import Resource, ResourceList
from tests.commands.conftest import Configure
from tests.commands.platform import Platform
from tests.commands.shell import Ended, invoke
from tests.golden import assert_golden

KEY = "a-secret-key-that-nothing-shows"
CONFIGURATION = f"""\
accounts:
  - name: main
    base_url: https://api.example.net
    api_key: {KEY}
    timeout: 3s
    proxy: http://user:password@proxy.example.net:3128
  - name: "yes"
    base_url: https://api.example.org
    api_key: {KEY}
databases:
  - name: orders
    url: libsql://orders.example.net?authToken={KEY}
    queries:
      - {{name: open, sql: SELECT 1 AS value, interval: 1m}}
      - {{name: closed, sql: "SELECT 2 AS value "}}
series:
  deny: ["edge_script_.*", edge_script_é]
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
    assert found["series.deny"] == (["edge_script_.*", "edge_script_é"], f"{config}:17")
    assert found["web.listen"] == (":99", "--web.listen")
    assert found["log.level"] == ("debug", "EDGE_EXPORTER_LOG__LEVEL")
    assert found["collectors.scripts.interval"] == ("15m", "default")
    assert (ended.err, ended.code) == ("", 0)


def test_show_masks_secrets_and_its_text_is_yaml(config: Path) -> None:
    text, as_json = (invoke("config", "show", "-o", form, "--config", config).out for form in ("text", "json"))
    for shown in (text, as_json):
        assert [secret for secret in (KEY, "password") if secret in shown] == []
        assert "http://***@proxy.example.net:3128" in shown
        assert "edge_script_é" in shown
    assert "\n    auth: access_key  # default\n" in text
    settings = yaml.safe_load(text)
    for one in json.loads(as_json):
        value = settings
        for step in re.findall(r"[^][.]+", one["path"]):
            value = value[int(step) if isinstance(value, list) else step]
        assert (one["path"], value) == (one["path"], one["value"])


def test_the_file_of_init_can_be_used(environ: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "new.yml"
    ended = invoke("config", "init", "--output", output, environ=environ)
    assert (ended.out, ended.code) == ("", 0)
    assert ended.err.startswith(f"{output}: 12 DNS zones, 4 scripts, 3 shield zones.")
    assert invoke("check", "--offline", "--config", output, environ=environ).code == 0


def test_init_shows_each_account_and_the_defaults_and_says_what_it_could_not_read(
    platform: Platform, configure: Configure, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(keys.API_KEY)
    path = configure(
        """\
        accounts:
          - {name: main, base_url: "{url}", api_key_file: key}
          - {name: öther, base_url: "{url}", api_key: wrong, auth: bearer}
        log: {level: info}
        """,
        url=platform.url,
    )
    ended = invoke("config", "init", "--config", path)
    accounts, _, defaults = ended.out.partition("\n# The other settings, with their defaults.\n")
    shown = accounts.replace(platform.url, "http://127.0.0.1").replace(str(tmp_path), "/etc")
    assert_golden(shown, Path(__file__).with_name("init.yml"))
    assert (ended.err, ended.code) == ("some lists could not be read:\nöther: the platform answered 401\n", 1)
    sections = yaml.safe_load(re.sub("^# ", "", defaults, flags=re.MULTILINE))
    assert sections["collectors"]["dns_statistics"] == {"enabled": True, "interval": "5m", "stale_after": None}
    assert "accounts" not in sections
    absent = tmp_path / "absent" / "new.yml"
    ended = invoke("config", "init", "--output", absent, "--config", path)
    assert ended == Ended("", f"{absent} cannot be written: No such file or directory\n", 1)


def test_init_carries_over_all_of_an_account_but_its_secrets(tmp_path: Path, config: Path) -> None:
    for name in ("key", "ca.pem", "ids"):
        (tmp_path / name).write_text("7")
    full = config.with_name("full.yml")
    full.write_text("""accounts:
      - {name: "a\\uffff", base_url: "https://x", api_key_file: key, ca_file: ca.pem, proxy: "http://p:1", timeout: 90s,
         budget: {max_in_flight: 5}, dns_zones: {include: ['a\\.b'], ids_file: ids}, scripts: {discover: false},
         rate_limits: [{id: 7, name: é}]}
    """)
    given = load(full, {}, {}).accounts
    full.write_text(document([(given[0], {})]))
    assert load(full, {}, {}).accounts == given
    text = document([(account, {}) for account in load(config, {}, {}).accounts])
    assert [secret for secret in (KEY, "password@") if secret in text] == []
    assert text.count("\n    api_key_file: /run/secrets/edge\n") == 2
    assert '\n    # proxy: "http://***@proxy.example.net:3128"\n' in text


@pytest.mark.parametrize(("number", "more"), [(1000, ""), (1001, "      #   and more than the first 1000, ")])
def test_init_shows_the_first_thousand_of_a_list(config: Path, number: int, more: str) -> None:
    zones = ResourceList(tuple(Resource(str(zone)) for zone in range(number)), complete=False)
    none = ResourceList((), complete=True)
    found = [(load(config, {}, {}).accounts[0], {"dns_zone": zones, "script": none, "rate_limit": none})]
    text = document(found).partition("# The other settings")[0]
    assert f"      # {number} found; the list was incomplete:\n      #   - 0\n" in text
    assert f"\n      #   - 999\n{more or '    scripts:'}" in text
    assert "\n      # none found\n" in text
    assert "rate_limits" not in text


def test_init_overwrites_nothing(environ: dict[str, str], config: Path) -> None:
    ended = invoke("config", "init", "--output", config, environ=environ)
    assert (ended.out, ended.code) == ("", 2)
    assert "is there already" in ended.err
    assert config.read_text() == CONFIGURATION
    config.write_text("databases: " + CONFIGURATION.partition("databases:")[2])
    ended = invoke("config", "init", "--config", config)
    said = "there is no account in the configuration: EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice\n"
    assert ended == Ended("", said, 1)


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
