"""The heavy modules that each command imports: a help text imports only what it needs."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.shell import clean

HEAVY = frozenset(
    {
        "aiohttp", "apscheduler", "asyncio", "bcrypt", "fastapi", "httpx", "importlib.metadata", "isal", "jinja2",
        "jmespath", "msgpack", "prometheus_client", "psycopg", "pydantic", "pydantic_settings",
        "sqlite3", "ssl", "starlette", "structlog", "tabulate", "uvicorn", "yaml",
    }
)  # fmt: skip
# Runs each line of commands with its environment, and notes whether it prints, and which modules are loaded then.
CODE = """
import contextlib, io, json, os, shlex, sys
from exporter.__main__ import main
file, found = sys.argv[1], []
for line, environ in json.loads(sys.argv[2]):
    sys.argv[1:] = shlex.split(line)
    os.environ.update(environ)
    printed = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(printed, write_through=True)), contextlib.suppress(SystemExit):
        main()
    seen = bool(printed.getvalue())
    for name in environ:
        del os.environ[name]
    found.append([seen, sorted(sys.modules)])
with open(file, "w") as opened:
    json.dump(found, opened)
"""
CONFIGURATION = """
accounts:
  - {name: main, base_url: "http://127.0.0.1:9", api_key: a-key}
"""
MODELS = {"pydantic"}
SETTINGS = MODELS | {"jmespath"}
# Pydantic looks for plugins when it builds the first validator; pydantic-settings imports asyncio.
READ = SETTINGS | {"asyncio", "importlib.metadata", "pydantic_settings", "ssl", "yaml"}
CALLS = READ | {"aiohttp", "httpx", "isal", "structlog", "tabulate"}
# The library that carries calls is imported with the first call, and the pages' with the first page.
SERVES = HEAVY - {"aiohttp", "fastapi", "jinja2", "psycopg", "tabulate"}

HELPED = ("", "check", "backfill", "call", "config", "demo", "sandbox")
# The commands of one process each: every one may import what is allowed for those before it.
PROCESSES: list[list[tuple[str, set[str]]]] = [
    [
        *((words, set()) for words in (*(f"{words} --help" for words in HELPED), "r?")),
        *((words, MODELS) for words in ("call dns_statistics --help", "call dns?")),
        ("run --help", SETTINGS),
        *((words, READ) for words in ("run --help-all", "run --web.?", "check --offline --config FILE")),
        ("config show --config FILE", READ),
        ("check --config FILE", CALLS),
    ],
    [
        ("--version", {"importlib.metadata"}),
        ("explain --help", READ - {"jmespath", "yaml", "pydantic_settings"}),
    ],
    [("call --list", MODELS | {"importlib.metadata", "tabulate"})],
    [("call dns_zone --account ?", MODELS | {"yaml"})],
]


@pytest.mark.parametrize("commands", PROCESSES, ids=lambda commands: commands[-1][0])
def test_a_command_or_a_completion_imports_what_it_needs(commands: list[tuple[str, set[str]]], tmp_path: Path) -> None:
    """A line that ends in a question mark is completed there."""
    _, found = modules_of([words for words, _ in commands], tmp_path)
    for (words, allowed), (is_printed, loaded) in zip(commands, found, strict=True):
        assert (words, is_printed, sorted(loaded - allowed)) == (words, True, [])


def test_a_health_check_imports_pythons_own_client_alone() -> None:
    code = "import exporter.commands.health_check, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=clean(), capture_output=True, text=True, check=True
    ).stdout
    assert HEAVY & set(loaded.split()) == {"ssl"}


def test_the_daemon_listens_before_it_imports_what_polls_and_pages_need(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = f"run --config FILE --state.path null --web.listen 127.0.0.1:{taken.getsockname()[1]}"
        said, ((_, loaded),) = modules_of([words], tmp_path)
    assert b"cannot listen on" in said
    assert sorted(loaded - SERVES) == []


def modules_of(lines: list[str], folder: Path) -> tuple[bytes, list[tuple[bool, frozenset[str]]]]:
    """Run commands in one process; return its errors, and of each whether it printed, and the heavy modules then."""
    config, found = folder / "edge.yml", folder / "modules"
    config.write_text(CONFIGURATION)
    asked: list[tuple[str, dict[str, str]]] = []
    for line in lines:
        words, is_completed, _ = line.replace("FILE", str(config)).partition("?")
        typed = {"COMP_WORDS": f"edge-exporter {words}", "COMP_CWORD": str(1 + words.count(" "))}
        environ = {"_EDGE_EXPORTER_COMPLETE": "bash_complete", "EDGE_EXPORTER_CONFIG": str(config), **typed}
        asked.append(("", environ) if is_completed else (words, {}))
    arguments = [sys.executable, "-c", CODE, str(found), json.dumps(asked)]
    ended = subprocess.run(arguments, env=clean(), capture_output=True, check=False)
    assert b"Traceback" not in ended.stderr
    return ended.stderr, [(printed, HEAVY.intersection(loaded)) for printed, loaded in json.loads(found.read_text())]
