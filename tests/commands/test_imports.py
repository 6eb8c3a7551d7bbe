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
        "aiohttp", "apscheduler", "asyncio", "bcrypt", "importlib.metadata", "isal", "jinja2", "jmespath", "msgpack",
        "prometheus_client", "psycopg", "pydantic", "re2", "rich.console", "sqlite3", "ssl", "starlette", "structlog",
        "uvicorn", "yaml",
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
# Pydantic looks for plugins when it builds the first validator.
READ = SETTINGS | {"importlib.metadata", "yaml"}
CALLS = READ | {"aiohttp", "asyncio", "isal", "ssl", "structlog"}
# The client's library is imported with the first call, and the pages' with the first page.
SERVES = HEAVY - {"aiohttp", "jinja2", "psycopg", "rich.console"}


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("--help", set()),
        ("--version", {"importlib.metadata"}),
        ("demo --help", set()),
        ("sandbox --help", set()),
        ("explain --help", set()),
        ("endpoint try --help", set()),
        ("state copy --help", set()),
        ("check --help", set()),
        ("backfill --help", set()),
        ("call --help", set()),
        ("config --help", set()),
        ("config init --help", set()),
        ("call --list", MODELS),
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


def test_the_daemon_listens_before_it_imports_what_polls_and_pages_need(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = f"run --config FILE --state.path null --web.listen 127.0.0.1:{taken.getsockname()[1]}"
        ended, loaded = modules_of(words, tmp_path)
    assert b"cannot listen on" in ended.stderr
    assert sorted(loaded - SERVES) == []


def modules_of(words: str, folder: Path) -> tuple[subprocess.CompletedProcess[bytes], frozenset[str]]:
    """Return the result of a command, and the heavy modules that it imported."""
    config, found = folder / "edge.yml", folder / "modules"
    config.write_text(CONFIGURATION)
    found.touch()
    ended = subprocess.run(
        [sys.executable, "-c", CODE, str(found), *words.replace("FILE", str(config)).split()],
        env=clean(),
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in ended.stderr
    return ended, HEAVY.intersection(json.loads(found.read_text()))
