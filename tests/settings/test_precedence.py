"""Flags over environment over file, in every combination."""

from itertools import product
from pathlib import Path

import pytest

from exporter.settings.flag import Flag
from exporter.settings.flags import flags
from exporter.settings.loading import load
from tests.settings.configurations import ACCOUNT, ENOUGH, load_text, refusal, write


@pytest.mark.parametrize(("in_file", "in_environment", "in_flags"), list(product([False, True], repeat=3)))
def test_the_highest_source_that_sets_a_value_wins(
    tmp_path: Path, *, in_file: bool, in_environment: bool, in_flags: bool
) -> None:
    text = ACCOUNT + ("log: {level: debug}\n" if in_file else "")
    environ = {"EDGE_EXPORTER_LOG__LEVEL": "warning"} if in_environment else {}
    given = {"--log.level": "error"} if in_flags else {}
    expected = "error" if in_flags else "warning" if in_environment else "debug" if in_file else "info"
    assert load_text(tmp_path, text, given, environ).log.level == expected


@pytest.mark.parametrize(("in_file", "in_environment", "in_flags"), list(product([False, True], repeat=3)))
def test_the_one_account_s_address_comes_from_the_highest_source(
    tmp_path: Path, *, in_file: bool, in_environment: bool, in_flags: bool
) -> None:
    text = "accounts:\n  - name: main\n    api_key: hunter2\n" + ("    base_url: https://file\n" if in_file else "")
    environ = {"EDGE_EXPORTER_BASE_URL": "https://environment"} if in_environment else {}
    given = {"--base-url": "https://flag"} if in_flags else {}
    if not (in_file or in_environment or in_flags):
        assert refusal(tmp_path, text) == [
            "config.yml:2: accounts[0].base_url: missing; expected the platform's address, such as https://api.example.net"
        ]
        return
    expected = "https://flag" if in_flags else "https://environment" if in_environment else "https://file"
    assert load_text(tmp_path, text, given, environ).accounts[0].base_url == expected


def test_sources_are_merged_key_by_key(tmp_path: Path) -> None:
    scripts = "scripts: {interval: 1h, stale_after: 9h}"
    text = f"{ACCOUNT}web: {{listen: ':1', route_prefix: /file}}\ncollectors: {{{scripts}}}\n"
    environ = {"EDGE_EXPORTER_WEB__LISTEN": ":2", "EDGE_EXPORTER_COLLECTORS__SCRIPTS__INTERVAL": "2h"}
    settings = load_text(tmp_path, text, {"--web.config-file": "web.yml"}, environ)
    assert (str(settings.web.listen), settings.web.route_prefix) == (":2", "/file")
    assert settings.web.config_file == Path("web.yml")
    assert (settings.collectors.scripts.interval, settings.collectors.scripts.stale_after) == (7200.0, 32_400.0)
    assert settings.collectors.search.interval == 600.0


def test_a_key_file_from_above_replaces_the_key_from_below(tmp_path: Path) -> None:
    key = write(tmp_path, "from-the-file", "key")
    environ = {"EDGE_EXPORTER_API_KEY_FILE": str(key)}
    account = load_text(tmp_path, ACCOUNT, None, environ).accounts[0]
    assert (account.api_key, account.credential().get_secret_value()) == (None, "from-the-file")


def test_a_key_from_above_replaces_the_key_file_from_below(tmp_path: Path) -> None:
    write(tmp_path, "from-the-file", "key")
    text = ACCOUNT.replace("api_key: hunter2", "api_key_file: key")
    account = load_text(tmp_path, text, None, {"EDGE_EXPORTER_API_KEY": "from-above"}).accounts[0]
    assert (account.api_key_file, account.credential().get_secret_value()) == (None, "from-above")


def test_a_fault_names_the_source_that_won(tmp_path: Path) -> None:
    text = f"{ACCOUNT}log: {{level: debug}}\n"
    environ = {"EDGE_EXPORTER_LOG__LEVEL": "loud"}
    assert refusal(tmp_path, text, None, environ) == [
        "EDGE_EXPORTER_LOG__LEVEL: log.level: found 'loud', expected one of debug, info, warning, error"
    ]
    assert refusal(tmp_path, text, {"--log.level": "quiet"}, environ) == [
        "--log.level: log.level: found 'quiet', expected one of debug, info, warning, error"
    ]


def test_a_fault_of_the_file_that_is_overridden_is_no_fault(tmp_path: Path) -> None:
    settings = load_text(tmp_path, f"{ACCOUNT}log: {{level: loud}}\n", {"--log.level": "error"})
    assert settings.log.level == "error"


def test_a_fault_between_keys_of_two_sources_is_placed_at_the_key(tmp_path: Path) -> None:
    text = f"{ACCOUNT}shard: {{index: 2, total: 4}}\n"
    assert refusal(tmp_path, text, {"--shard.total": "2"}) == [
        "config.yml:5: shard.index: found 2, but shard.total is 2 (0 to 1 are allowed)"
    ]


def test_a_wrong_flag_name_is_a_fault() -> None:
    assert refusal(Path(), None, {"--web.lisen": ":1"}, ENOUGH) == [
        "--web.lisen: unknown flag; did you mean '--web.listen'?"
    ]


VALUES = {
    "TEXT": "x",
    "FILE": "a-file",
    "DURATION": "2h",
    "true|false": "true",
    "INTEGER": "7",
    "HOST:PORT": ":1",
    "PATH": "/p",
    "INTEGER|auto|lease": "auto",
    "debug|info|warning|error": "debug",
    "auto|console|json": "json",
    "access_key|bearer": "bearer",
    "URL": "https://flag.example.net",
}


@pytest.mark.parametrize("flag", flags(), ids=lambda flag: str(flag.name))
def test_every_flag_and_its_variable_set_the_same(flag: Flag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "postgresql://of-the-file/edge", "a-file")
    value = "false" if flag.default == "true" else VALUES[flag.metavar]
    environ = {name: text for name, text in ENOUGH.items() if flag.name != "--api-key-file" or "KEY" not in name}
    by_flag = load(None, {flag.name: value}, environ, host_name="pod-0")
    by_variable = load(None, None, {**environ, flag.variable: value}, host_name="pod-0")
    assert by_flag == by_variable
    assert by_flag != load(None, None, ENOUGH)


def test_flags_show_their_defaults_and_what_they_set() -> None:
    table = {flag.name: (flag.variable, flag.metavar, flag.default) for flag in flags()}
    assert table["--base-url"] == ("EDGE_EXPORTER_BASE_URL", "URL", "")
    assert table["--web.listen"] == ("EDGE_EXPORTER_WEB__LISTEN", "HOST:PORT", "127.0.0.1:9877")
    assert table["--web.route-prefix"] == ("EDGE_EXPORTER_WEB__ROUTE_PREFIX", "PATH", "/")
    assert table["--state.path"] == ("EDGE_EXPORTER_STATE__PATH", "FILE", "edge-exporter-state.db")
    assert table["--state.retention"] == ("EDGE_EXPORTER_STATE__RETENTION", "DURATION", "30d")
    assert table["--log.level"] == ("EDGE_EXPORTER_LOG__LEVEL", "debug|info|warning|error", "info")
    assert table["--shard.index"] == ("EDGE_EXPORTER_SHARD__INDEX", "INTEGER|auto|lease", "0")
    assert table["--series.max-per-family"] == ("EDGE_EXPORTER_SERIES__MAX_PER_FAMILY", "INTEGER", "1000000")
    assert table["--collectors.dns-statistics.interval"] == (
        "EDGE_EXPORTER_COLLECTORS__DNS_STATISTICS__INTERVAL",
        "DURATION",
        "5m",
    )


def test_every_flag_says_what_it_sets_in_a_sentence() -> None:
    assert [flag.name for flag in flags() if not flag.help.endswith(".")] == []


def test_no_flag_takes_a_secret() -> None:
    assert [flag.name for flag in flags() if "key" in flag.name or "token" in flag.name] == ["--api-key-file"]
