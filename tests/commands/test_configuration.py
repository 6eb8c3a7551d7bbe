"""The configuration as a whole: settings and web configuration."""

from pathlib import Path

import pytest

from exporter.commands.configuration import read_configuration
from exporter.validation.configuration_errors import ConfigurationError
from tests.commands.shell import Ended, invoke

ENOUGH = {"EDGE_EXPORTER_BASE_URL": "https://api.example.net", "EDGE_EXPORTER_API_KEY": "hunter2"}
LOG = "log: {format: json}\n"
LOUD = {"EDGE_EXPORTER_LOG__LEVEL": "loud"}
OF_WEB, OF_LEVEL = (
    "web.yml:1: user: unknown key",
    "EDGE_EXPORTER_LOG__LEVEL: found 'loud', expected 'debug', 'info', 'warning' or 'error'",
)


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("web: {config_file: empty}\n", ENOUGH, []),
        # The files that settings name are read where these have no fault.
        ("web: {config_file: web.yml, listn: ':1'}\n", ENOUGH,
         ["config.yml:1: web.listn: unknown key; did you mean 'listen'?"]),
        (LOG, ENOUGH | LOUD | {"--web.config-file": "web.yml"}, [OF_LEVEL]),
        (LOG, ENOUGH | {"--web.config-file": "web.yml"}, [OF_WEB]),
        (LOG, ENOUGH | {"EDGE_EXPORTER_WEB__CONFIG_FILE": "web.yml"}, [OF_WEB]),
        ("web: {config_file: gone.yml}\n", ENOUGH, ["gone.yml: does not exist"]),
        ("log: level: info", {},
         ["config.yml:1: is not valid YAML: mapping values are not allowed here"]),
    ],
)  # fmt: skip
def test_every_fault_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, given: dict[str, str], expected: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yml").write_text(text)
    (tmp_path / "web.yml").write_text("user: alice\n")
    (tmp_path / "empty").write_text("")
    found: list[str] = []
    try:
        flags = {name: value for name, value in given.items() if name.startswith("--")}
        read_configuration(None, flags, {"EDGE_EXPORTER_CONFIG": f"{tmp_path}/config.yml", **given})
    except ConfigurationError as error:
        found = [str(fault).replace(f"{tmp_path}/", "") for fault in error.faults]
    assert found == expected


@pytest.mark.parametrize(
    ("words", "code"),
    [("check", 1), ("backfill --output /nowhere/b", 2), ("call search --search=a", 2)],
)  # fmt: skip
def test_an_environment_that_names_no_http_proxy_is_one_line(words: str, code: int) -> None:
    told = "HTTPS_PROXY is not the URL of an HTTP proxy; expected one such as http://proxy.example.net:3128\n"
    ended = invoke(*words.split(), environ=ENOUGH | {"https_proxy": "socks5://me:word@127.0.0.1:1080"})
    assert ended == Ended("", told, code)
