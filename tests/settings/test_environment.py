# ruff: noqa: E501 - a message stands on one line, as it is printed
"""Variables: an account without a file, the attached database, and variables of other programs."""

from pathlib import Path

import pytest

from exporter.settings.loading import load
from tests.settings.configurations import ACCOUNT, ENOUGH, load_text, refusal, write

TWO_ACCOUNTS = """\
accounts:
  - {name: one, base_url: "https://one", api_key: hunter2}
  - {name: two, base_url: "https://two", api_key: hunter2}
"""
DATABASE = {
    "PLATFORM_DATABASE_URL": "libsql://abc.lite.example.net",
    "PLATFORM_DATABASE_AUTH_TOKEN": "token-of-the-platform",
}


def test_two_variables_suffice() -> None:
    settings = load(None, None, ENOUGH)
    (account,) = settings.accounts
    assert (account.name, account.base_url, account.auth) == ("main", "https://api.example.net", "access_key")
    assert account.credential().get_secret_value() == "hunter2"


def test_the_key_may_be_in_a_file(tmp_path: Path) -> None:
    key = write(tmp_path, "hunter2\n", "key")
    environ = {
        "EDGE_EXPORTER_BASE_URL": "https://x",
        "EDGE_EXPORTER_API_KEY_FILE": str(key),
        "EDGE_EXPORTER_AUTH": "bearer",
    }
    (account,) = load(None, None, environ).accounts
    assert (account.auth, account.credential().get_secret_value()) == ("bearer", "hunter2")


def test_the_environment_lays_over_the_one_account_of_the_file(tmp_path: Path) -> None:
    text = ACCOUNT.replace("name: main", "name: shop") + "    timeout: 7s\n"
    (account,) = load_text(tmp_path, text, None, {"EDGE_EXPORTER_BASE_URL": "https://other"}).accounts
    assert (account.name, account.base_url, account.timeout) == ("shop", "https://other", 7.0)


def test_it_is_a_fault_where_there_are_several_accounts(tmp_path: Path) -> None:
    assert refusal(tmp_path, TWO_ACCOUNTS, {"--base-url": "https://flag"}, ENOUGH) == [
        "--base-url: there are 2 accounts; set it in the file for one of them",
        "EDGE_EXPORTER_API_KEY: there are 2 accounts; set it in the file for one of them",
        "EDGE_EXPORTER_BASE_URL: there are 2 accounts; set it in the file for one of them",
    ]


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    environ = {
        "EDGE_EXPORTER_BASE_URL": "",
        "EDGE_EXPORTER_API_KEY_FILE": " ",
        "EDGE_EXPORTER_LOG__LEVEL": "",
        "EDGE_EXPORTER_CONFIG": "",
        "EDGE_EXPORTER_MISTAKE": "",
        "PLATFORM_DATABASE_URL": "",
    }
    assert load_text(tmp_path, ACCOUNT, None, environ) == load_text(tmp_path, ACCOUNT)


def test_a_variable_names_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, ACCOUNT)
    assert load(None, None, {"EDGE_EXPORTER_CONFIG": str(path)}) == load(path, None, {})


def test_a_file_that_is_passed_goes_before_the_one_that_the_variable_names(tmp_path: Path) -> None:
    path = write(tmp_path, ACCOUNT)
    assert load(path, None, {"EDGE_EXPORTER_CONFIG": str(tmp_path / "none")}) == load(path, None, {})


def test_null_unsets_what_may_be_null() -> None:
    settings = load(None, None, {**ENOUGH, "EDGE_EXPORTER_STATE__PATH": "null"})
    assert settings.state.path is None


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("EDGE_EXPORTER_LOG_LEVEL", "unknown variable; did you mean 'EDGE_EXPORTER_LOG__LEVEL'?"),
        ("EDGE_EXPORTER_API_KEYFILE", "unknown variable; did you mean 'EDGE_EXPORTER_API_KEY_FILE'?"),
        ("EDGE_EXPORTER_CONFIG_FILE", "unknown variable; did you mean 'EDGE_EXPORTER_WEB__CONFIG_FILE'?"),
        ("EDGE_EXPORTER_SERIES__DENY", "series.deny is a list, which only the configuration file can set"),
        ("EDGE_EXPORTER_ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ", "unknown variable"),
    ],
)
def test_an_unknown_variable_is_a_fault_that_shows_no_value(variable: str, message: str) -> None:
    assert refusal(Path(), None, None, {**ENOUGH, variable: "hunter2"}) == [f"{variable}: {message}"]


def test_what_kubernetes_sets_for_a_service_of_our_name_is_left_alone() -> None:
    links = {
        "EDGE_EXPORTER_SERVICE_HOST": "10.0.0.1",
        "EDGE_EXPORTER_SERVICE_PORT": "9877",
        "EDGE_EXPORTER_SERVICE_PORT_METRICS": "9877",
        "EDGE_EXPORTER_PORT": "tcp://10.0.0.1:9877",
        "EDGE_EXPORTER_PORT_9877_TCP": "tcp://10.0.0.1:9877",
        "EDGE_EXPORTER_PORT_9877_TCP_PROTO": "tcp",
        "EDGE_EXPORTER_PORT_9877_TCP_PORT": "9877",
        "EDGE_EXPORTER_PORT_9877_TCP_ADDR": "10.0.0.1",
        "EDGE_EXPORTER_METRICS_SERVICE_HOST": "10.0.0.2",
    }
    assert load(None, None, {**ENOUGH, **links}) == load(None, None, ENOUGH)


def test_variables_without_our_prefix_are_none_of_ours() -> None:
    environ = {**ENOUGH, "LOG": "x", "LOG__LEVEL": "loud", "edge_exporter_log__level": "loud", "PLATFORM_OTHER": "x"}
    assert load(None, None, environ) == load(None, None, ENOUGH)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "nothing to do: there is no account and no database; EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice"),
        ({"EDGE_EXPORTER_API_KEY": "hunter2"}, "EDGE_EXPORTER_BASE_URL: accounts[0].base_url: missing; expected the platform's address, such as https://api.example.net"),
        ({"EDGE_EXPORTER_BASE_URL": "https://x"}, "EDGE_EXPORTER_API_KEY: accounts[0].api_key: missing; expected api_key or api_key_file"),
        ({**ENOUGH, "EDGE_EXPORTER_API_KEY_FILE": "/dev/null"}, "EDGE_EXPORTER_API_KEY_FILE: accounts[0].api_key_file: /dev/null is a device, expected a regular file"),
        ({**ENOUGH, "EDGE_EXPORTER_LOG__LEVEL": "null"}, "EDGE_EXPORTER_LOG__LEVEL: log.level: found 'null', expected one of debug, info, warning, error"),
        ({**ENOUGH, "PLATFORM_DATABASE_AUTH_TOKEN": "hunter2"}, "PLATFORM_DATABASE_AUTH_TOKEN: there is no database for this token; set PLATFORM_DATABASE_URL"),
        ({**DATABASE, "PLATFORM_DATABASE_URL": "abc.lite.example.net?authToken=hunter2"}, "PLATFORM_DATABASE_URL: databases[0].url: is not a URL; expected one such as libsql://abc.lite.example.net"),
    ],
)  # fmt: skip
def test_wrong_variables_say_what_is_missing_and_show_no_secret(environ: dict[str, str], message: str) -> None:
    assert refusal(Path(), None, None, environ) == [message]


def test_an_attached_database_is_called_default() -> None:
    settings = load(None, None, DATABASE)
    (database,) = settings.databases
    assert (database.name, database.url) == ("default", "https://abc.lite.example.net")
    assert database.credential().get_secret_value() == "token-of-the-platform"


def test_an_attached_database_may_have_its_token_in_its_url() -> None:
    url = "libsql://abc.lite.example.net?authToken=in-the-url"
    (database,) = load(None, None, {"PLATFORM_DATABASE_URL": url}).databases
    assert (database.url, database.credential().get_secret_value()) == ("https://abc.lite.example.net", "in-the-url")


def test_the_one_configured_database_takes_what_it_lacks(tmp_path: Path) -> None:
    text = "databases:\n  - {name: orders, queries: [{name: n, sql: SELECT 1}]}\n"
    (database,) = load_text(tmp_path, text, None, DATABASE).databases
    assert (database.name, database.url, len(database.queries)) == ("orders", "https://abc.lite.example.net", 1)
    assert database.credential().get_secret_value() == "token-of-the-platform"


@pytest.mark.parametrize("url", ["https://own?authToken=own-token", "https://own"])
def test_what_the_one_configured_database_has_stays(tmp_path: Path, url: str) -> None:
    token = "" if "authToken" in url else ", auth_token: own-token"
    text = f"databases:\n  - {{name: orders, url: '{url}'{token}}}\n"
    (database,) = load_text(tmp_path, text, None, DATABASE).databases
    assert (database.url, database.credential().get_secret_value()) == ("https://own", "own-token")


def test_several_configured_databases_take_nothing(tmp_path: Path) -> None:
    text = """\
        databases:
          - {name: one, url: "https://one", auth_token: hunter2}
          - {name: two, url: "https://two"}
        """
    assert refusal(tmp_path, text, None, DATABASE) == [
        "config.yml:3: databases[1].auth_token: missing; expected auth_token or auth_token_file"
    ]
