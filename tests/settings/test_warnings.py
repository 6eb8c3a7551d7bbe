"""Credentials that others could read give a warning with their place in the settings."""

from pathlib import Path

import pytest

from exporter.settings import warnings
from exporter.settings.warnings import exposed
from tests.settings.configurations import load_text

HERE = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("url", "proxy", "goes"),
    [
        ("http://api.example.net", None, "api.example.net without encryption"),
        ("http://10.0.0.7:8080", None, "10.0.0.7 without encryption"),
        ("http://localhost.example.net", None, "localhost.example.net without encryption"),
        ("https://api.example.net", None, None),
        *((url, None, None) for url in (HERE, "http://127.9.9.9", "http://[::1]:8080")),
        *((url, None, None) for url in ("http://localhost", "http://edge.localhost")),
        (HERE, "http://proxy.example.net:3128", "127.0.0.1 without encryption"),
    ],
)
def test_a_key_that_leaves_the_machine_in_plain_http_is_warned_of(
    tmp_path: Path, url: str, proxy: str | None, goes: str | None
) -> None:
    account = f"{{name: main, base_url: '{url}', api_key: secret, proxy: {proxy or 'null'}}}"
    says = f"the key goes to {goes}; expected an https:// address"
    found = list(exposed(load_text(tmp_path, f"accounts: [{account}]\n")))
    assert found == ([] if goes is None else [(("accounts", 0, "base_url"), says)])


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
    says = f"every user of this machine may read {tmp_path / 'open'}; correct this with"
    assert said["accounts", 1, "api_key_file"] == f"{says} 'chmod o-r {tmp_path / 'open'}'"
    # As in a container: the file is another user's, and only what everyone may do lets this process read it.
    monkeypatch.setattr("os.geteuid", lambda: 65532)
    (tmp_path / "open").chmod(0o604)
    said = dict(exposed(settings))
    assert said["accounts", 1, "api_key_file"] == (
        f"{says} 'chown 65532 {tmp_path / 'open'} && chmod 400 {tmp_path / 'open'}'"
    )
