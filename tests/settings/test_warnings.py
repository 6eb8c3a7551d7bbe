"""Credentials that others could read give a warning with their place in the settings."""

from pathlib import Path

import pytest

from exporter.settings import warnings
from exporter.settings.warnings import exposed
from tests.settings.configurations import load_text

# Addresses of accounts, one with a proxy, and the hosts to which their keys go without encryption.
GOES: dict[str, str | None] = {
    "http://api.example.net": "api.example.net",
    "http://10.0.0.7:8080": "10.0.0.7",
    "http://localhost.example.net": "localhost.example.net",
    "http://localhost:1', proxy: 'http://proxy.example.net:3128": "localhost",
    "https://api.example.net": None,
    **dict.fromkeys(("http://127.9.9.9", "http://[::1]:8080", "http://localhost", "http://edge.localhost")),
}


def test_keys_that_leave_the_machine_in_plain_http_are_warned_of(tmp_path: Path) -> None:
    accounts = [f"{{name: a{number}, api_key: k, base_url: '{url}'}}" for number, url in enumerate(GOES)]
    found = dict(exposed(load_text(tmp_path, f"accounts: [{', '.join(accounts)}]\n")))
    assert found == {
        ("accounts", number, "base_url"): f"the key goes to {host} without encryption; expected an https:// address"
        for number, host in enumerate(GOES.values())
        if host is not None
    }


def test_secret_files_that_others_may_read_and_a_databases_token_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warnings, "may_be_read_by_others", lambda path: path.name.startswith("open"))
    for name in ("open", "closed"):
        (tmp_path / name).write_text("secret")
    (tmp_path / "open_url").write_text("postgresql://edge:secret@db.example.net/edge")
    settings = load_text(
        tmp_path,
        "accounts:\n"
        "  - {name: a, base_url: 'https://x', api_key_file: closed}\n"
        "  - {name: b, base_url: 'https://x', api_key_file: open}\n"
        "databases:\n"
        "  - {name: d, url: 'https://x', auth_token_file: open}\n"
        "  - {name: e, url: 'http://db.example.net', auth_token: secret}\n"
        "state: {url_file: open_url}\n",
    )
    said = dict(exposed(settings))
    databases = [("databases", 0, "auth_token_file"), ("databases", 1, "url")]
    assert list(said) == [("accounts", 1, "api_key_file"), *databases, ("state", "url_file")]
    says = "expected a file of this process's user, with mode 400"
    shown = f"every user of this machine may read {tmp_path / 'open'}; {says}"
    assert said["accounts", 1, "api_key_file"] == shown
