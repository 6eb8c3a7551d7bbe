"""The heavy modules that each command imports: a help text imports only what it needs."""

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.commands.shell import clean

HEAVY = frozenset(
    {
        "aiohttp", "apscheduler", "asyncio", "bcrypt", "fastapi", "httpx", "importlib.metadata", "isal", "jinja2",
        "jmespath", "msgpack", "prometheus_client", "psycopg", "pydantic", "pydantic_settings", "re2",
        "rich.console", "sqlite3", "ssl", "starlette", "structlog", "uvicorn", "yaml",
    }
)  # fmt: skip
CODE = """
import atexit, json, os, sys
file = os.open(sys.argv.pop(1), os.O_WRONLY)
atexit.register(lambda: os.write(file, json.dumps(sorted(sys.modules)).encode()))
from exporter.__main__ import main
main()
"""
CONFIGURATION = """
accounts:
  - {name: main, base_url: "http://127.0.0.1:9", api_key: a-key}
"""
MODELS = {"pydantic"}
SETTINGS = MODELS | {"jmespath", "re2"}
# Pydantic looks for plugins when it builds the first validator; pydantic-settings imports asyncio.
READ = SETTINGS | {"asyncio", "importlib.metadata", "pydantic_settings", "ssl", "yaml"}
# httpx imports rich for a command line of its own.
CALLS = READ | {"aiohttp", "httpx", "isal", "rich.console", "structlog"}
# The library that carries calls is imported with the first call, and the pages' with the first page.
SERVES = HEAVY - {"aiohttp", "fastapi", "jinja2", "psycopg"}


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("--help", set()),
        ("completion bash", set()),
        ("--version", {"importlib.metadata"}),
        ("endpoint try --help", set()),
        ("check --help", set()),
        ("backfill --help", set()),
        ("call --help", set()),
        ("config --help", set()),
        ("config init --help", set()),
        ("demo --help", set()),
        ("sandbox --help", set()),
        ("explain --help", READ - {"jmespath", "re2", "yaml", "pydantic_settings"}),
        ("call --list", MODELS | {"rich.console"}),
        ("call --list -o json", MODELS),
        ("call dns_statistics --help", MODELS),
        ("run --help", SETTINGS),
        ("run --help-all", SETTINGS),
        ("call dns_statistics id=1 --dry-run --config FILE", READ),
        ("check --offline --config FILE", READ),
        ("config show --config FILE", READ),
        ("check --config FILE", CALLS),
    ],
)
def test_a_command_imports_what_it_needs(words: str, allowed: set[str], tmp_path: Path) -> None:
    ended, loaded = modules_of(words, tmp_path)
    assert ended.stdout
    assert sorted(loaded - allowed) == []


@pytest.mark.parametrize(
    ("line", "allowed"),
    [("r", set()), ("run --web.", SETTINGS), ("call dns_zone --account ", MODELS | {"yaml"}), ("call dns", MODELS)],
)
def test_a_completion_imports_what_it_needs(line: str, allowed: set[str], tmp_path: Path) -> None:
    words = f"edge-exporter {line}"
    asked = {"_EDGE_EXPORTER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ended, loaded = modules_of("", tmp_path, asked)
    assert ended.stdout
    assert sorted(loaded - allowed) == []


def test_a_health_check_imports_pythons_own_client_alone() -> None:
    code = "import exporter.commands.health_check, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=clean(), capture_output=True, text=True, check=True
    ).stdout
    assert HEAVY & set(loaded.split()) == {"ssl"}


def test_the_daemon_listens_before_it_imports_what_polls_and_pages_need(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = f"run --config FILE --state.path null --web.listen 127.0.0.1:{taken.getsockname()[1]}"
        ended, loaded = modules_of(words, tmp_path)
    assert b"cannot listen on" in ended.stderr
    assert sorted(loaded - SERVES) == []


def modules_of(
    words: str, folder: Path, environ: Mapping[str, str] | None = None
) -> tuple[subprocess.CompletedProcess[bytes], frozenset[str]]:
    """Return the result of a command, and the heavy modules that it imported."""
    config, found = folder / "edge.yml", folder / "modules"
    config.write_text(CONFIGURATION)
    found.touch()
    ended = subprocess.run(
        [sys.executable, "-c", CODE, str(found), *words.replace("FILE", str(config)).split()],
        env=clean({"EDGE_EXPORTER_CONFIG": str(config), **environ} if environ else None),
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in ended.stderr
    return ended, HEAVY.intersection(json.loads(found.read_text()))
