# ruff: noqa: E501 - a message stands on one line, as it is printed
"""Secrets: their sources, reading them again, and that no output shows them."""

import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.settings.loading import SettingsError, load
from exporter.settings.model import Settings
from exporter.validation.secrets import SecretFileError, read_secret
from tests.settings.configurations import ACCOUNT, load_text, refusal, write

SECRET = "S3CRET-0f3c9a7e"
WITH_SECRETS = f"""\
accounts:
  - name: main
    base_url: https://api.example.net
    api_key: {SECRET}
    proxy: http://me:{SECRET}@proxy.example.net:3128
databases:
  - {{name: one, url: "libsql://x?authToken={SECRET}"}}
  - {{name: two, url: "libsql://y", auth_token: {SECRET}}}
"""


def test_a_key_file_is_read_again_at_each_call(tmp_path: Path) -> None:
    key = write(tmp_path, " old \n", "key")
    account = load_text(tmp_path, ACCOUNT.replace("api_key: hunter2", "api_key_file: key")).accounts[0]
    before = account.credential().get_secret_value()
    key.write_text("\ufeffnew\r\n", encoding="utf-8")
    assert (before, account.credential().get_secret_value()) == ("old", "new")


def test_a_token_file_is_read_again_at_each_call(tmp_path: Path) -> None:
    token = write(tmp_path, "old", "token")
    text = "databases: [{name: d, url: 'https://x', auth_token_file: token}]\n"
    database = load_text(tmp_path, text).databases[0]
    before = database.credential().get_secret_value()
    token.write_text("new", encoding="utf-8")
    assert (before, database.credential().get_secret_value()) == ("old", "new")


def test_blanks_around_a_key_go(tmp_path: Path) -> None:
    account = load_text(tmp_path, ACCOUNT.replace("hunter2", '" hunter2\\n"')).accounts[0]
    assert account.credential().get_secret_value() == "hunter2"


def test_a_key_file_that_goes_is_named_by_the_error(tmp_path: Path) -> None:
    key = write(tmp_path, "hunter2", "key")
    account = load_text(tmp_path, ACCOUNT.replace("api_key: hunter2", "api_key_file: key")).accounts[0]
    key.unlink()
    with pytest.raises(SecretFileError) as failed:
        account.credential()
    assert (str(failed.value), failed.value.path) == (f"{key} does not exist", key)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"two\nlines", "contains a line break or another character that an HTTP header cannot carry"),
        (b"caf\xc3\xa9", "contains a line break or another character that an HTTP header cannot carry"),
        (b'"hunter2"\n', "has quotes around the secret, which would be sent with it"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"x" * 70_000, "is too large to be a secret"),
    ],
)
def test_a_file_that_holds_no_usable_secret_is_refused_without_showing_it(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(SecretFileError) as failed:
        read_secret(path)
    assert str(failed.value) == f"{path} {problem}"
    assert refusal(tmp_path, ACCOUNT.replace("api_key: hunter2", "api_key_file: key")) == [
        f"config.yml:4: accounts[0].api_key_file: key {problem}"
    ]


def test_a_directory_is_no_secret(tmp_path: Path) -> None:
    with pytest.raises(SecretFileError) as failed:
        read_secret(tmp_path)
    assert str(failed.value) == f"{tmp_path} is a directory, expected a file"


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("api_key: ''", "config.yml:4: accounts[0].api_key: is empty"),
        (
            f'api_key: "{SECRET}\\u00e9"',
            "config.yml:4: accounts[0].api_key: contains a line break or another character that an HTTP header cannot carry",
        ),
        (
            f"""api_key: "'{SECRET}'\"""",
            "config.yml:4: accounts[0].api_key: has quotes around the secret, which would be sent with it",
        ),
        (f"api_key: [{SECRET}]", "config.yml:4: accounts[0].api_key: expected text"),
        (f"apikey: {SECRET}", "config.yml:4: accounts[0].apikey: unknown key; did you mean 'api_key'?"),
        (
            f"api_key_file: {SECRET}-and-some-more",
            "config.yml:4: accounts[0].api_key_file: is not the name of a file, and may be the secret itself, so it is not shown",
        ),
        (f"api_key:{SECRET}", "config.yml:4: this line is not 'key: value'"),
        (
            f"api_key: *{SECRET}",
            "config.yml:4: a value starts with '*' (a YAML alias) and no anchor has that name; quote it",
        ),
        (
            f"api_key: !{SECRET} x",
            "config.yml:4: accounts[0].api_key: starts with '!' (a YAML tag), which means nothing here; quote it",
        ),
        (f"api_key: !x!{SECRET}", "config.yml:4: a value starts with '!' (a YAML tag); quote it"),
        (f"api_key: x\n    auth: {SECRET}", "config.yml:5: accounts[0].auth: expected one of access_key, bearer"),
        (f"api_key: x\n    budget: {SECRET}", "config.yml:5: accounts[0].budget: found text, expected a mapping"),
    ],
)
def test_no_fault_shows_a_secret(tmp_path: Path, written: str, fault: str) -> None:
    faults = refusal(tmp_path, ACCOUNT.replace("api_key: hunter2", written))
    assert fault in faults
    assert SECRET not in "\n".join(faults)


@pytest.mark.parametrize("show", [str, repr, lambda settings: f"{settings}"])
def test_the_settings_show_no_secret(tmp_path: Path, show: Callable[[Settings], str]) -> None:
    settings = load_text(tmp_path, WITH_SECRETS)
    assert settings.accounts[0].credential().get_secret_value() == SECRET
    assert [database.credential().get_secret_value() for database in settings.databases] == [SECRET, SECRET]
    assert SECRET not in show(settings)
    assert SECRET not in repr(settings.accounts[0].credential())


def test_a_refusal_of_the_whole_shows_no_secret_even_in_its_traceback(tmp_path: Path) -> None:
    path = write(tmp_path, f"{WITH_SECRETS}log: {{level: loud}}\nqqqq: {SECRET}\n")
    with pytest.raises(SettingsError) as refused:
        load(path, None, {"EDGE_EXPORTER_API_KEY": f"{SECRET}\x01", "EDGE_EXPORTER_KEY": SECRET})
    shown = "".join(traceback.format_exception(refused.value)) + repr(refused.value) + repr(refused.value.faults)
    assert SECRET not in shown


def test_a_pair_of_key_and_file_is_one_too_many(tmp_path: Path) -> None:
    write(tmp_path, "hunter2", "key")
    assert refusal(tmp_path, f"{ACCOUNT}    api_key_file: key\n") == [
        "config.yml:5: accounts[0].api_key_file: set together with api_key; expected one of the two"
    ]
