"""The configuration as a whole: settings, web configuration and certificates, all faults together."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import trustme

from exporter.commands.configuration import read_configuration
from exporter.validation.faults import ConfigurationError

ACCOUNT = "accounts: [{name: main, base_url: 'https://api.example.net', api_key: hunter2}]\n"
ENOUGH = {"EDGE_EXPORTER_BASE_URL": "https://api.example.net", "EDGE_EXPORTER_API_KEY": "hunter2"}


def faults(
    directory: Path, text: str | None, flags: Mapping[str, str] | None = None, environ: Mapping[str, str] | None = None
) -> list[str]:
    path = None
    if text is not None:
        path = directory / "config.yml"
        path.write_text(text)
    try:
        read_configuration(path, flags or {}, environ or {})
    except ConfigurationError as error:
        return [str(fault).replace(f"{directory}/", "") for fault in error.faults]
    return []


def test_what_is_right_has_no_faults(tmp_path: Path) -> None:
    (tmp_path / "web.yml").write_text("")
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.pem")
    text = ACCOUNT.replace("hunter2", "hunter2, ca_file: ca.pem") + "web: {config_file: web.yml}\n"
    assert faults(tmp_path, text) == []


def test_faults_of_the_settings_and_of_the_web_configuration_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "web.yml").write_text("user: alice\n")
    assert faults(tmp_path, ACCOUNT + "web: {config_file: web.yml, listn: ':1'}\n") == [
        "config.yml:2: web.listn: unknown key; did you mean 'listen'?",
        "web.yml:1: user: unknown key",
    ]


@pytest.mark.parametrize(
    ("flags", "environ"),
    [
        ({"--web.config-file": "{}/web.yml"}, {}),
        ({}, {"EDGE_EXPORTER_WEB__CONFIG_FILE": "{}/web.yml"}),
        ({}, {"EDGE_EXPORTER_CONFIG": "{}/named.yml"}),
    ],
)
def test_the_web_configuration_is_found_wherever_it_is_named(
    tmp_path: Path, flags: dict[str, str], environ: dict[str, str]
) -> None:
    (tmp_path / "web.yml").write_text("user: alice\n")
    (tmp_path / "named.yml").write_text("web: {config_file: web.yml}\n")
    given = {name: text.format(tmp_path) for name, text in flags.items()}
    variables = {name: text.format(tmp_path) for name, text in environ.items()}
    found = faults(tmp_path, None, given, variables | ENOUGH)
    assert found == ["web.yml:1: user: unknown key"]
    # The same beside settings that are refused.
    found = faults(tmp_path, None, given, variables | ENOUGH | {"EDGE_EXPORTER_LOG__LEVEL": "loud"})
    assert found == [
        "EDGE_EXPORTER_LOG__LEVEL: found 'loud', expected one of debug, info, warning, error",
        "web.yml:1: user: unknown key",
    ]


def test_a_missing_web_configuration_is_a_fault(tmp_path: Path) -> None:
    assert faults(tmp_path, ACCOUNT + "web: {config_file: gone.yml}\n") == ["gone.yml: does not exist"]


def test_certificates_that_cannot_be_trusted_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    text = "accounts:\n" + "".join(
        f"  - {{name: {name}, base_url: 'https://api.example.net', api_key: k, ca_file: {file}}}\n"
        for name, file in (("one", "gone.pem"), ("two", "folder"))
    )
    assert faults(tmp_path, text) == [
        "config.yml:2: accounts[0].ca_file: gone.pem does not exist",
        "config.yml:3: accounts[1].ca_file: folder is a directory, expected a file",
    ]


def test_a_file_without_a_certificate_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    text = "accounts:\n  - {name: one, base_url: 'https://api.example.net', api_key: k, ca_file: empty.pem}\n"
    assert faults(tmp_path, text) == ["config.yml:2: accounts[0].ca_file: empty.pem holds no certificate in PEM form"]


def test_a_file_that_cannot_be_parsed_is_one_fault(tmp_path: Path) -> None:
    assert faults(tmp_path, "web: [1") == [
        "config.yml:1: a list that starts with '[' does not end; expected ',' or ']'"
    ]
