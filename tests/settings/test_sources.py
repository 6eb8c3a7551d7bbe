# ruff: noqa: E501 - a message stands on one line, as it is printed
"""What files, variables and flags together give: values, or messages. `files/` has what a file alone gives."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from exporter.settings.flags import Flag, flags
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.targets.sharding import Shard
from tests.settings.configurations import ACCOUNT, ENOUGH, load_text, refusal, write

# Flags begin with dashes; all else is a variable. `{folder}` is the folder of the file, which has these files besides.
Given = Mapping[str, str]
FILES = {
    "key": "of-the-file\n",
    "ids.txt": "\ufeff# zones\n8\n\n 9 # the shop\n7\n8\n",
    "other.yml": ACCOUNT,
}
TOKEN, DATABASE_URL = "PLATFORM_DATABASE_AUTH_TOKEN", "PLATFORM_DATABASE_URL"
ATTACHED = {DATABASE_URL: "libsql://abc.lite.example.net", TOKEN: "of-the-platform"}
WITH_IDS = f"{ACCOUNT}    dns_zones: {{ids: [7], ids_file: ids.txt}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        write(tmp_path, text, name)
    (tmp_path / "latin1.yml").write_bytes(b"log:\n  level: \xff\n")
    return tmp_path


def divided(folder: Path, given: Given) -> tuple[dict[str, str], dict[str, str]]:
    """Return the flags and the variables."""
    filled = {name: value.replace("{folder}", str(folder)) for name, value in given.items()}
    passed = {name: value for name, value in filled.items() if name.startswith("--")}
    return passed, {name: value for name, value in filled.items() if name not in passed}


def loaded(folder: Path, text: str | None, given: Given) -> Settings:
    return load(None, *divided(folder, given)) if text is None else load_text(folder, text, *divided(folder, given))


def value(settings: Settings, path: str) -> object:
    """Return the value at a path; texts for secrets, addresses and files."""
    found: Any = settings
    for part in path.split("."):
        found = found[int(part)] if part.isdigit() else getattr(found, part)
        found = found() if callable(found) else found
    found = found.get_secret_value() if isinstance(found, SecretStr) else found
    return found if found is None or isinstance(found, bool | float | tuple) else str(found)


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        (None, ENOUGH, {"accounts.0.name": "main", "accounts.0.base_url": "https://api.example.net", "accounts.0.auth": "access_key", "accounts.0.credential": "hunter2"}),
        (None, {"EDGE_EXPORTER_BASE_URL": "https://x", "EDGE_EXPORTER_API_KEY_FILE": "{folder}/key", "EDGE_EXPORTER_AUTH": "bearer"}, {"accounts.0.auth": "bearer", "accounts.0.credential": "of-the-file"}),
        ("accounts:\n", ENOUGH, {"accounts.0.name": "main", "accounts.0.credential": "hunter2"}),
        (None, {**ENOUGH, "EDGE_EXPORTER_STATE__PATH": "null", "EDGE_EXPORTER_LOG__LEVEL": "null"}, {"state.path": None, "log.level": "info"}),
        (None, {"EDGE_EXPORTER_CONFIG": "{folder}/other.yml"}, {"accounts.0.credential": "hunter2"}),
        # A file that is passed goes before the one that the variable names.
        (ACCOUNT, {"EDGE_EXPORTER_CONFIG": "{folder}/none"}, {"accounts.0.credential": "hunter2"}),
        # The environment lays over the one account of the file, and a key in one form replaces that in the other.
        (ACCOUNT.replace("main", "shop") + "    timeout: 7s\n", {"EDGE_EXPORTER_BASE_URL": "https://y"}, {"accounts.0.name": "shop", "accounts.0.base_url": "https://y", "accounts.0.timeout": 7.0}),
        (ACCOUNT, {"EDGE_EXPORTER_API_KEY_FILE": "{folder}/key"}, {"accounts.0.api_key": None, "accounts.0.credential": "of-the-file"}),
        (ACCOUNT.replace("api_key: hunter2", "api_key_file: key"), {"EDGE_EXPORTER_API_KEY": "of-above"}, {"accounts.0.api_key_file": None, "accounts.0.credential": "of-above"}),
        # Sources are merged key by key, and what is overridden is no fault.
        (
            ACCOUNT + "web: {listen: ':1', route_prefix: /file}\ncollectors: {scripts: {interval: 1h, stale_after: 9h}}\n",
            {"EDGE_EXPORTER_WEB__LISTEN": ":2", "EDGE_EXPORTER_COLLECTORS__SCRIPTS__INTERVAL": "2h", "--web.config-file": "web.yml"},
            {"web.listen": ":2", "web.route_prefix": "/file", "web.config_file": "web.yml", "collectors.scripts.interval": 7200.0, "collectors.scripts.stale_after": 32_400.0, "collectors.search.interval": 600.0},
        ),
        (f"{ACCOUNT}log: {{level: loud}}\n", {"--log.level": "error"}, {"log.level": "error"}),
        # An image's address to listen on goes behind every other one.
        (ACCOUNT, {"CONTAINER_LISTEN": ":3"}, {"web.listen": ":3"}),
        (f"{ACCOUNT}web: {{listen: ':1'}}\n", {"CONTAINER_LISTEN": ":3"}, {"web.listen": ":1"}),
        (ACCOUNT, {"CONTAINER_LISTEN": ":3", "EDGE_EXPORTER_WEB__LISTEN": ":2"}, {"web.listen": ":2"}),
        # An attached database; the one that is configured takes what it lacks, and keeps what it has.
        (None, ATTACHED, {"databases.0.name": "default", "databases.0.url": "https://abc.lite.example.net", "databases.0.credential": "of-the-platform"}),
        ("databases:\n  - {name: orders, queries: [{name: n, sql: SELECT 1}]}\n", ATTACHED, {"databases.0.name": "orders", "databases.0.url": "https://abc.lite.example.net", "databases.0.queries.0.name": "n", "databases.0.credential": "of-the-platform"}),
        ("databases: [{name: orders, url: , auth_token: null}]\n", ATTACHED, {"databases.0.url": "https://abc.lite.example.net", "databases.0.credential": "of-the-platform"}),
        ("databases: [{name: orders, url: 'https://own', auth_token: own}]\n", ATTACHED, {"databases.0.url": "https://own", "databases.0.credential": "own"}),
        # Files are relative to the file that names them; ids come from the list, then from their file, each once.
        (WITH_IDS, {}, {"accounts.0.dns_zones.all_ids": (7, 8, 9)}),
        (f"{ACCOUNT}    dns_zones: {{ids_file: null}}\n", {}, {"accounts.0.dns_zones.ids_file": None}),
        (f"{ACCOUNT}web: {{config_file: web.yml}}\nstate: {{path: state.db}}\n", {}, {"web.config_file": "{folder}/web.yml", "state.path": "state.db"}),
        # Text needs no quotes, whatever it looks like.
        (
            "accounts:\n  - {name: on, base_url: https://x, api_key: 0123, images: [{registry_id: 7, namespace: 2024-01-01, name: 1e3}]}\n",
            {},
            {"accounts.0.name": "on", "accounts.0.credential": "0123", "accounts.0.images.0.registry_id": "7", "accounts.0.images.0.namespace": "2024-01-01", "accounts.0.images.0.name": "1e3"},
        ),
        *((f"{ACCOUNT}    dns_zones: {{discover: {word}}}\n", {}, {"accounts.0.dns_zones.discover": meant}) for word, meant in {"true": True, "yes": True, "on": True, "off": False}.items()),
        ("accounts:\n  - &first {name: one, base_url: https://one, api_key: hunter2, timeout: 5s}\n  - {<<: *first, name: two, base_url: https://two}\n", {}, {"accounts.0.name": "one", "accounts.1.name": "two", "accounts.1.base_url": "https://two", "accounts.1.timeout": 5.0}),
        ("# nothing\n", ENOUGH, {"accounts.0.name": "main"}),
        (f"\ufeff{ACCOUNT}", {}, {"accounts.0.name": "main"}),
        (ACCOUNT.replace("hunter2", '" hunter2\\n"').replace("main", '" main "'), {}, {"accounts.0.name": "main", "accounts.0.credential": "hunter2"}),
    ],
)  # fmt: skip
def test_sources_give_values(folder: Path, text: str | None, given: Given, expected: dict[str, object]) -> None:
    settings = loaded(folder, text, given)
    wanted = {
        path: one.replace("{folder}", str(folder)) if isinstance(one, str) else one for path, one in expected.items()
    }
    assert {path: value(settings, path) for path in expected} == wanted


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (ACCOUNT, dict.fromkeys(["EDGE_EXPORTER_BASE_URL", "EDGE_EXPORTER_LOG__LEVEL", "EDGE_EXPORTER_CONFIG", "EDGE_EXPORTER_MISTAKE", "PLATFORM_DATABASE_URL"], "") | {"EDGE_EXPORTER_API_KEY_FILE": " "}),
        # What Kubernetes sets for a service of our name, and variables without our prefix.
        (ACCOUNT, {"EDGE_EXPORTER_SERVICE_HOST": "10.0.0.1", "EDGE_EXPORTER_SERVICE_PORT": "9877", "EDGE_EXPORTER_SERVICE_PORT_METRICS": "9877", "EDGE_EXPORTER_PORT": "tcp://10.0.0.1:9877", "EDGE_EXPORTER_PORT_9877_TCP": "tcp://10.0.0.1:9877", "EDGE_EXPORTER_PORT_9877_TCP_PROTO": "tcp", "EDGE_EXPORTER_PORT_9877_TCP_PORT": "9877", "EDGE_EXPORTER_PORT_9877_TCP_ADDR": "10.0.0.1", "EDGE_EXPORTER_METRICS_SERVICE_HOST": "10.0.0.2"}),
        (ACCOUNT, {"LOG": "x", "LOG__LEVEL": "loud", "edge_exporter_log__level": "loud", "PLATFORM_OTHER": "x"}),
        (ACCOUNT + "    budget:\n    auth:\n    rate_limits:\nweb:\nshard: ~\nstate: {lease: }\nendpoints:\ncollectors:\n  scripts:\n  search: {interval: null}\n", {}),
    ],
)  # fmt: skip
def test_what_is_empty_or_not_ours_sets_nothing(folder: Path, text: str, given: Given) -> None:
    assert loaded(folder, text, given) == loaded(folder, ACCOUNT, {})


BASE_URL = "missing; expected the platform's address, such as https://api.example.net"
UNKNOWN = {
    "EDGE_EXPORTER_LOG_LEVEL": "unknown variable; did you mean 'EDGE_EXPORTER_LOG__LEVEL'?",
    "EDGE_EXPORTER_API_KEYFILE": "unknown variable; did you mean 'EDGE_EXPORTER_API_KEY_FILE'?",
    "EDGE_EXPORTER_CONFIG_FILE": "unknown variable; did you mean 'EDGE_EXPORTER_WEB__CONFIG_FILE'?",
    "EDGE_EXPORTER_SERIES__DENY": "unknown variable; only the configuration file sets lists",
    "EDGE_EXPORTER_ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ": "unknown variable; only the configuration file sets lists",
}


@pytest.mark.parametrize(
    ("text", "given", "messages"),
    [
        (ACCOUNT + ACCOUNT.replace("accounts:\n", "").replace("main", "two"), ENOUGH, [f"{name}: there are 2 accounts; set it in the file for one of them" for name in ("EDGE_EXPORTER_API_KEY", "EDGE_EXPORTER_BASE_URL")]),
        *((None, {**ENOUGH, name: "hunter2"}, [f"{name}: {message}"]) for name, message in UNKNOWN.items()),
        (None, {}, ["nothing to do: there is no account and no database; EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice"]),
        (None, {"EDGE_EXPORTER_API_KEY": "hunter2"}, [f"EDGE_EXPORTER_BASE_URL: {BASE_URL}"]),
        (None, {**ENOUGH, "--auth": "x"}, ["--auth: expected 'access_key' or 'bearer'"]),
        ("accounts:\n  - {name: main, api_key: hunter2}\n", {}, [f"config.yml:2: accounts[0].base_url: {BASE_URL}"]),
        (None, {"EDGE_EXPORTER_BASE_URL": "https://x"}, ["EDGE_EXPORTER_API_KEY: missing; expected api_key or api_key_file"]),
        (None, {**ENOUGH, "EDGE_EXPORTER_API_KEY_FILE": "/dev/null"}, ["EDGE_EXPORTER_API_KEY_FILE: /dev/null is a device, expected a regular file"]),
        (None, {**ENOUGH, TOKEN: "hunter2"}, [f"{DATABASE_URL}: missing; expected the database's address, such as libsql://abc.lite.example.net"]),
        (None, {**ATTACHED, DATABASE_URL: "abc.lite.example.net?authToken=hunter2"}, [f"{DATABASE_URL}: is not a URL with libsql:// or https:// or http:// and without a user, a query or a fragment, such as libsql://abc.lite.example.net"]),
        ("databases:\n  - {name: one, url: 'https://one', auth_token: hunter2}\n  - {name: two, url: 'https://two'}\n", ATTACHED, ["config.yml:3: databases[1].auth_token: missing; expected auth_token or auth_token_file"]),
        # A fault names the source that won, and one between keys of two sources stands at the key.
        (f"{ACCOUNT}log: {{level: debug}}\n", {"EDGE_EXPORTER_LOG__LEVEL": "loud"}, ["EDGE_EXPORTER_LOG__LEVEL: found 'loud', expected 'debug', 'info', 'warning' or 'error'"]),
        (ACCOUNT, {"--log.level": "quiet", "EDGE_EXPORTER_LOG__LEVEL": "loud"}, ["--log.level: found 'quiet', expected 'debug', 'info', 'warning' or 'error'"]),
        (f"{ACCOUNT}shard: {{index: 2, total: 4}}\n", {"--shard.total": "2"}, ["config.yml:5: shard.index: found 2, but shard.total is 2 (0 to 1 are allowed)"]),
        (f"{ACCOUNT}log: {{level: {'x' * 200}}}\n", {}, [f"config.yml:5: log.level: found '{'x' * 60}…', expected 'debug', 'info', 'warning' or 'error'"]),
        ("[" * 1000, {}, ["config.yml: is nested too deeply"]),
        ("accounts: [x]\ndatabases: {name: x}\n", {**ENOUGH, **ATTACHED}, ["config.yml:1: accounts[0]: found text, expected a mapping", "config.yml:2: databases: found a mapping, expected a list"]),
        (f"{ACCOUNT}    api_key_file: key\n", {}, ["config.yml:5: accounts[0].api_key_file: set together with api_key; expected one of the two"]),
        (
            f"{ACCOUNT}endpoints: [{', '.join(f'{{name: e{n}, path: /a, metrics: [{{name: m{n}, value: a}}]}}' for n in range(5001))}]\n",
            {},
            ["config.yml:5: endpoints: found 5001 items, expected at most 5000"],
        ),
        # Faults of the file come first, and a file that cannot be read hides nothing that is wrong elsewhere.
        *(
            (None, {**ENOUGH, "EDGE_EXPORTER_CONFIG": f"{{folder}}/{name}", "EDGE_EXPORTER_LOG_LEVEL": "x"}, [message, f"EDGE_EXPORTER_LOG_LEVEL: {UNKNOWN['EDGE_EXPORTER_LOG_LEVEL']}"])
            for name, message in {"none.yml": "none.yml: does not exist", "latin1.yml": "latin1.yml: is not UTF-8 text on line 2"}.items()
        ),
        (
            f"{ACCOUNT}web: {{listen: 9877}}\n",
            {"--log.level": "loud", "EDGE_EXPORTER_LOG_FORMAT": "json"},
            [
                "config.yml:5: web.listen: found '9877', expected host:port, [::1]:9877 or :9877, with a port up to 65535",
                "--log.level: found 'loud', expected 'debug', 'info', 'warning' or 'error'",
                "EDGE_EXPORTER_LOG_FORMAT: unknown variable; did you mean 'EDGE_EXPORTER_LOG__FORMAT'?",
            ],
        ),
    ],
)  # fmt: skip
def test_sources_give_messages(folder: Path, text: str | None, given: Given, messages: list[str]) -> None:
    assert refusal(folder, text, *divided(folder, given)) == messages


@pytest.mark.parametrize(
    ("host_name", "message"),
    [
        ("edge-exporter-2.svc", None),
        ("laptop", "host name 'laptop' does not end in a number, as 'exporter-0' does"),
        ("exporter-3", "host name 'exporter-3' ends in 3, but shard.total is 3 (0 to 2 are allowed)"),
    ],
)
def test_the_ordinal_of_the_host_name_is_the_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host_name: str, message: str | None
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: host_name)
    text = f"{ACCOUNT}shard:\n  total: 3\n  index: auto\n"
    if message is None:
        assert load_text(tmp_path, text).own_shard() == Shard(2, 3)
    else:
        assert refusal(tmp_path, text) == [f"config.yml:7: shard.index: {message}"]


PLACE = "accounts[0].dns_zones.ids_file"
NO_ID = "expected a whole number from 1"


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (None, [f"config.yml:5: {PLACE}: ids.txt does not exist"]),
        (b"\xff", [f"config.yml:5: {PLACE}: ids.txt is not UTF-8 text on line 1"]),
        *((f"1\r\n# a\u2028com\x0cment\n{line}\n".encode(), [f"config.yml:5: {PLACE}: ids.txt:3: found '{line}', {NO_ID}"]) for line in ["x", "0", "-1", "1.5", "1 2", "9223372036854775808", "٣", "1,2"]),
    ],
)  # fmt: skip
def test_a_file_of_ids_is_refused_by_its_lines(tmp_path: Path, content: bytes | None, messages: list[str]) -> None:
    if content is not None:
        (tmp_path / "ids.txt").write_bytes(content)
    assert refusal(tmp_path, WITH_IDS) == messages


def test_the_settings_cannot_be_changed_and_take_nothing_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG", '{"level": "debug"}')
    account = {"name": "main", "base_url": "https://x", "api_key": "hunter2"}
    settings = Settings.model_validate({"accounts": [account]})
    assert settings.log.level == "info"
    with pytest.raises(ValidationError, match="frozen"):
        settings.log.level = "debug"


VALUES = {
    "TEXT": "x",
    "FILE": "a-file",
    "DURATION": "2h",
    "true|false": "true",
    "INTEGER": "7",
    "HOST:PORT": ":1",
    "PATH": "/p",
    "INTEGER|auto": "auto",
    "debug|info|warning|error": "debug",
    "auto|console|json": "json",
    "access_key|bearer": "bearer",
    "URL": "https://flag.example.net",
}


@pytest.mark.parametrize("flag", flags(), ids=lambda flag: str(flag.name))
def test_every_flag_and_its_variable_set_the_same(flag: Flag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("socket.gethostname", lambda: "pod-0")
    write(tmp_path, "postgresql://of-the-file/edge", "a-file")
    given = "false" if flag.default == "true" else VALUES[flag.metavar]
    environ = {name: text for name, text in ENOUGH.items() if flag.name != "--api-key-file" or "KEY" not in name}
    by_flag = load(None, {flag.name: given}, environ)
    by_variable = load(None, None, {**environ, flag.variable: given})
    assert by_flag == by_variable
    assert by_flag != load(None, None, ENOUGH)
    assert flag.help.endswith(".")


def test_no_flag_takes_a_secret() -> None:
    assert [flag.name for flag in flags() if "key" in flag.name or "token" in flag.name] == ["--api-key-file"]
