"""Which heavy modules each command imports: a help text waits for none that it does not need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.shell import clean

HEAVY = frozenset(
    {
        "aiohttp", "apscheduler", "asyncio", "bcrypt", "importlib.metadata", "isal", "jmespath", "msgpack",
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
CALLS = READ | {"aiohttp", "asyncio", "isal", "rich.console", "ssl", "structlog"}


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
    config, found = tmp_path / "edge.yml", tmp_path / "modules"
    config.write_text(CONFIGURATION)
    found.touch()
    ended = subprocess.run(
        [sys.executable, "-c", CODE, str(found), *words.replace("FILE", str(config)).split()],
        env=clean(),
        capture_output=True,
        check=False,
    )
    assert ended.stdout
    assert b"Traceback" not in ended.stderr
    loaded = HEAVY.intersection(json.loads(found.read_text()))
    assert sorted(loaded - allowed) == []
