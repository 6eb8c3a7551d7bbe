"""The state section: a file, or a database whose address is a secret."""

from pathlib import Path

import pytest

from exporter.settings import exposure, service
from exporter.settings.exposure import exposed
from exporter.settings.model import Settings
from exporter.validation.faults import ConfigurationError
from exporter.validation.secrets import SecretFileError
from tests.settings.configurations import ACCOUNT, load_text

PASSWORD = "S3CRET-0f3c9a7e"
URL = f"postgresql://edge:{PASSWORD}@db.example.net/edge"


def state(folder: Path, written: str) -> service.StateSettings:
    """Load the state section of a file."""
    return load_text(folder, f"{ACCOUNT}state: {written}\n").state


def fault(folder: Path, written: str) -> str:
    """Return why a state section is refused."""
    with pytest.raises(ConfigurationError) as caught:
        state(folder, written)
    return str(caught.value)


def test_without_an_address_the_state_is_in_a_file(tmp_path: Path) -> None:
    settings = state(tmp_path, "{path: state.db}")
    assert (settings.is_shared, settings.is_durable) == (False, True)
    assert not state(tmp_path, "{path: null}").is_durable


def test_an_address_goes_before_the_file(tmp_path: Path) -> None:
    settings = state(tmp_path, f"{{path: state.db, url: '{URL}'}}")
    assert (settings.is_shared, settings.is_durable, settings.address()) == (True, True, URL)
    assert (settings.installation, settings.lease) == ("default", 15.0)


def test_an_address_that_was_changed_in_its_file_is_found(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(f"{URL}\n")
    settings = state(tmp_path, "{url_file: url, installation: blue, lease: 30s}")
    assert (settings.address(), settings.installation, settings.lease) == (URL, "blue", 30.0)
    file.write_text(URL.replace(PASSWORD, "renewed"))
    assert settings.address() == URL.replace(PASSWORD, "renewed")


@pytest.mark.parametrize(
    "address",
    [
        "postgres://db.example.net",
        "postgresql://edge:S3cr%40et:a[]@[2001:db8::1]:5432,second.example.net:5433/edge?sslmode=verify-full",
        "postgresql:///edge?host=/run/postgresql",
        "postgresql://%2Frun%2Fpostgresql/edge",
    ],
)
def test_every_form_of_an_address_is_accepted(tmp_path: Path, address: str) -> None:
    assert state(tmp_path, f"{{url: '{address}'}}").address() == address


def test_an_address_that_was_changed_to_an_ambiguous_one_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(URL)
    settings = state(tmp_path, "{url_file: url}")
    file.write_text(f"postgresql://edge:S3cr/{PASSWORD}@db.example.net/edge")
    with pytest.raises(SecretFileError, match="percent-encode the password") as caught:
        settings.address()
    assert PASSWORD not in str(caught.value)


def test_no_text_of_the_settings_holds_the_password(tmp_path: Path) -> None:
    settings = load_text(tmp_path, f"{ACCOUNT}state: {{url: '{URL}'}}\n")
    assert PASSWORD not in repr(settings) + settings.model_dump_json()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            f"{{url: 'mysql://edge:{PASSWORD}@db/edge'}}",
            "state.url: is not the address of a PostgreSQL; expected one such as",
        ),
        (f"{{url: '{PASSWORD}'}}", "state.url: is not the address of a PostgreSQL"),
        (f"{{url: 'postgresql://edge:{PASSWORD}@db /edge'}}", "state.url: is not the address of a PostgreSQL"),
        (f"{{url: '{URL}', url_file: url}}", "state.url_file: set together with url; expected one of the two"),
        ("{url_file: other}", "state.url_file: {folder}/other does not contain the address of a PostgreSQL"),
        (
            "{url_file: ambiguous}",
            "state.url_file: {folder}/ambiguous contains an ambiguous '@'; percent-encode the password",
        ),
        ("{url_file: absent}", "state.url_file: {folder}/absent does not exist"),
        (f"{{url: '{URL}', lease: 1s}}", "state.lease: found '1s'"),
    ],
)
def test_a_wrong_address_is_refused_without_showing_it(tmp_path: Path, written: str, message: str) -> None:
    (tmp_path / "url").write_text(URL)
    (tmp_path / "other").write_text(PASSWORD)
    (tmp_path / "ambiguous").write_text(URL.replace(PASSWORD, f"{PASSWORD}/{PASSWORD}"))
    found = fault(tmp_path, written)
    assert message.replace("{folder}/", "") in found.replace(f"{tmp_path}/", "")
    assert PASSWORD not in found


def test_a_database_needs_the_part_that_speaks_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "find_spec", lambda _name: None)
    assert "state.url: needs an extra that is not installed: pip install 'edge-exporter[postgres]'" in fault(
        tmp_path, f"{{url: '{URL}'}}"
    )


def test_an_address_that_everyone_may_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposure, "may_be_read_by_others", lambda path: path.name == "url")
    (tmp_path / "url").write_text(URL)
    settings: Settings = load_text(tmp_path, f"{ACCOUNT}state: {{url_file: url}}\n")
    assert [path for path, _ in exposed(settings)] == [("state", "url_file")]
