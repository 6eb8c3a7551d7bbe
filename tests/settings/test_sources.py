"""What files, variables and flags together give: `sources.txt`, with the settings that are not defaults, or messages.

Its form is that of `tests.commands.transcript`. `files/` has what a file alone gives.
"""

from pathlib import Path

import pytest
from pydantic import ValidationError

from exporter.settings.flags import Flag, flags
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.targets.sharding import Shard
from exporter.validation.configuration_errors import ConfigurationError
from exporter.validation.section import leaves
from tests.commands.transcript import assert_cases, printed
from tests.settings.configurations import ACCOUNT, ENOUGH, load_text, refusal, write

SOURCES = Path(__file__).with_name("sources.txt")

FILES = {
    "key": "of-the-file\n",
    "ids.txt": "8\n",
    "address": "postgresql://edge@db.example.net/edge",
    "other.yml": ACCOUNT,
}


def test_sources_give_settings_or_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        write(tmp_path, text, name)
    Path("latin1.yml").write_bytes(b"log:\n  level: \xff\n")
    Path("marked").write_bytes(b"\xef\xbb\xbf\n\xff")
    Path("folder").mkdir()
    assert_cases(SOURCES, lambda case: (line for line in printed(case, {}) if not line.endswith("# default")))


def test_what_no_line_of_a_table_holds(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("\ufeff# zones\n8\n\n 9 # the shop\n7\n8\n")
    settings = load_text(tmp_path, f"{ACCOUNT}    dns_zones: {{ids: [7], ids_file: ids.txt}}\n")
    assert settings.accounts[0].dns_zones.all_ids() == (7, 8, 9), "from the list, then from the file, each once"
    key = load_text(tmp_path, ACCOUNT.replace("hunter2", '" hunter2\\n"')).accounts[0].api_key
    assert key is not None and key.get_secret_value() == "hunter2"  # noqa: PT018 - the second needs the first
    endpoints = ", ".join(f"{{name: e{n}, path: /a, metrics: [{{name: m{n}, value: a}}]}}" for n in range(5001))
    found = refusal(tmp_path, f"{ACCOUNT}endpoints: [{endpoints}]\n")
    assert found == ["config.yml:5: endpoints: found too many items, expected at most 5000"]


@pytest.mark.parametrize(
    ("host_name", "message"),
    [
        ("edge-exporter-2.svc", None),
        ("laptop.net7", "host name 'laptop' does not end in a number; expected one such as 'exporter-0'"),
        ("a-1000002", "host name 'a-1000002' ends in 1000002, expected a number below shard.total, which is 3"),
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


def test_the_settings_cannot_be_changed_and_take_nothing_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG", '{"level": "debug"}')
    settings = Settings.model_validate({"accounts": [{"base_url": "https://x", "api_key": "hunter2"}]})
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
    by_flag = list(leaves(load(None, {flag.name: given}, environ)))
    by_variable = list(leaves(load(None, {}, {**environ, flag.variable: given})))
    assert by_flag == by_variable
    assert by_flag != list(leaves(load(None, {}, ENOUGH)))
    assert flag.help.endswith(".")


@pytest.mark.parametrize("host", ["\udcff", "[1.2.3.4]", "[::1::]", "ä..example", f"{'a' * 64}.example"])
def test_an_address_whose_host_cannot_be_looked_up_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url: cannot be used"):
        load(None, {"--base-url": f"https://{host}:8443/edge"}, ENOUGH)


def test_no_flag_takes_a_secret() -> None:
    assert [flag.name for flag in flags() if "key" in flag.name or "token" in flag.name] == ["--api-key-file"]
