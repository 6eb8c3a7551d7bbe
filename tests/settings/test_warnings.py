"""Credentials that leave the machine without encryption give a warning with their place in the settings."""

from pathlib import Path

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
    databases = "databases: [{url: 'http://db.example.net', auth_token: t}, {name: e, url: 'https://x', auth_token: t}]"
    found = dict(exposed(load_text(tmp_path, f"accounts: [{', '.join(accounts)}]\n{databases}\n")))
    shown = found.pop(("databases", 0, "url"))
    assert shown == "the token goes to db.example.net without encryption; expected an https:// address"
    assert found == {
        ("accounts", number, "base_url"): f"the key goes to {host} without encryption; expected an https:// address"
        for number, host in enumerate(GOES.values())
        if host is not None
    }
