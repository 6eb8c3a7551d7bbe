"""Credentials that others could read give a warning with their place in the settings."""

from pathlib import Path

import pytest

from exporter.settings import exposure
from exporter.settings.exposure import exposed
from tests.settings.configurations import load_text


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://api.example.net", "api.example.net"),
        ("http://10.0.0.7:8080", "10.0.0.7"),
        ("https://api.example.net", None),
        ("http://127.0.0.1:8080", None),
        ("http://127.9.9.9", None),
        ("http://[::1]:8080", None),
        ("http://localhost", None),
        ("http://edge.localhost", None),
        ("http://localhost.example.net", "localhost.example.net"),
    ],
)
def test_a_key_over_plain_http_is_warned_of_unless_it_stays_on_the_machine(
    tmp_path: Path, url: str, host: str | None
) -> None:
    settings = load_text(tmp_path, f"accounts: [{{name: main, base_url: '{url}', api_key: secret}}]\n")
    says = f"the key goes to {host} without encryption; expected an https:// address"
    assert list(exposed(settings)) == ([] if host is None else [(("accounts", 0, "base_url"), says)])


@pytest.mark.parametrize(
    ("proxy", "environ", "is_warned"),
    [
        ("http://proxy.example.net:3128", {}, True),
        (None, {"http_proxy": "http://proxy.example.net:3128"}, True),
        (None, {"http_proxy": "http://proxy.example.net:3128", "no_proxy": "127.0.0.1"}, False),
        (None, {"https_proxy": "http://proxy.example.net:3128"}, False),
    ],
)
def test_a_key_to_this_machine_through_a_proxy_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str | None, environ: dict[str, str], *, is_warned: bool
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    account = f"{{name: main, base_url: 'http://127.0.0.1:8080', api_key: secret, proxy: {proxy or 'null'}}}"
    says = "the key goes to 127.0.0.1 through a proxy without encryption; expected an https:// address"
    found = list(exposed(load_text(tmp_path, f"accounts: [{account}]\n")))
    assert found == ([(("accounts", 0, "base_url"), says)] if is_warned else [])


def test_a_databases_token_is_warned_of_as_well(tmp_path: Path) -> None:
    settings = load_text(tmp_path, "databases: [{name: d, url: 'http://db.example.net', auth_token: secret}]\n")
    assert [path for path, _ in exposed(settings)] == [("databases", 0, "url")]


def test_key_files_that_others_may_read_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposure, "may_be_read_by_others", lambda path: path.name == "open")
    for name in ("open", "closed"):
        (tmp_path / name).write_text("secret")
    settings = load_text(
        tmp_path,
        "accounts:\n"
        "  - {name: a, base_url: 'https://x', api_key_file: closed}\n"
        "  - {name: b, base_url: 'https://x', api_key_file: open}\n"
        "databases: [{name: d, url: 'https://x', auth_token_file: open}]\n",
    )
    said = dict(exposed(settings))
    assert list(said) == [("accounts", 1, "api_key_file"), ("databases", 0, "auth_token_file")]
    assert f"every user of this machine may read {tmp_path / 'open'}" in said["accounts", 1, "api_key_file"]
