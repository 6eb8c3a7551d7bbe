"""Secrets: their sources, reading them again, and that no output shows them."""

import traceback
from pathlib import Path

import pytest

from exporter.settings import service
from exporter.settings.loading import load
from exporter.validation.configuration_errors import ConfigurationError
from exporter.validation.secrets import SecretError
from tests.settings.configurations import ACCOUNT, load_text, refusal, write

SECRET = "S3CRET-0f3c9a7e"
STATE_URL = f"postgresql://edge:{SECRET}@db.example.net/edge"
WITH_SECRETS = f"""\
accounts:
  - name: main
    base_url: https://api.example.net
    api_key: {SECRET}
databases:
  - {{name: one, url: "libsql://x", auth_token: {SECRET}}}
state: {{url: "{STATE_URL}"}}
"""
TWO_HOSTS = "postgresql://edge:S3cr%40et:a[]@[2001:db8::1]:5432,second.example.net:5433/edge?sslmode=verify-full"


def test_the_address_of_the_state_is_read_from_its_file_again_at_each_use(tmp_path: Path) -> None:
    secret = write(tmp_path, f" {STATE_URL} \r\n", "secret")
    sections = "state: {url_file: secret, installation: blue, lease: 30s}\nshard: {index: auto, total: 3}\n"
    settings = load_text(tmp_path, ACCOUNT + sections)
    assert settings.own_shard() is None
    state = settings.state
    before = state.address()
    renewed = STATE_URL.replace(SECRET, "renewed")
    secret.write_text(renewed)
    assert (before, state.address()) == (STATE_URL, renewed)
    secret.write_text(f"postgresql://edge:S3cr/{SECRET}@db.example.net/edge")
    with pytest.raises(SecretError, match=f"^{secret} is not the address of a PostgreSQL database; [^S]*$"):
        state.address()
    secret.unlink()
    with pytest.raises(SecretError, match=f"^{secret} does not exist$"):
        state.address()


def test_neither_the_settings_nor_a_refusal_shows_a_secret_even_in_its_traceback(tmp_path: Path) -> None:
    settings = load_text(tmp_path, WITH_SECRETS)
    held = (settings.accounts[0].api_key, settings.databases[0].auth_token)
    assert [secret and secret.get_secret_value() for secret in held] == [SECRET] * 2
    path = write(tmp_path, f"{WITH_SECRETS}log: {{level: loud}}\nqqqq: {SECRET}\n")
    with pytest.raises(ConfigurationError) as refused:
        load(path, {}, {"EDGE_EXPORTER_API_KEY": f"{SECRET}\x01", "EDGE_EXPORTER_KEY": SECRET})
    shown = [*traceback.format_exception(refused.value), repr(refused.value), repr(refused.value.faults)]
    shown += [str(settings), repr(settings), f"{settings}", repr(held)]
    assert SECRET not in "".join(shown)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("path: state.db", None),
        ("path: null", None),
        (f"path: state.db, url: '{STATE_URL}'", STATE_URL),
        ("url: postgres://db.example.net", "postgres://db.example.net"),
        (f"url: '{TWO_HOSTS}'", TWO_HOSTS),
    ],
)
def test_the_state_is_in_a_file_unless_it_has_an_address(tmp_path: Path, written: str, address: str | None) -> None:
    state = load_text(tmp_path, f"{ACCOUNT}state: {{{written}}}\n").state
    assert state.is_shared == (address is not None)
    assert address is None or state.address() == address


def test_a_database_needs_the_part_that_speaks_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "find_spec", lambda _name: None)
    assert refusal(tmp_path, f"{ACCOUNT}state: {{url: '{STATE_URL}'}}\n") == [
        "config.yml:5: state.url: needs an extra that is not installed: pip install 'edge-exporter[postgres]'"
    ]
