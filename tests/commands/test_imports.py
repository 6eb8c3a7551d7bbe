"""Which heavy modules each command imports: a help text waits for none that it does not need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.shell import clean

HEAVY = frozenset(
    {
        "aiohttp", "apscheduler", "asyncio", "bcrypt", "httpx", "isal", "msgpack", "prometheus_client", "pydantic",
        "pydantic_settings", "rich", "sqlite3", "starlette", "structlog", "uvicorn", "yaml",
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
OPTIONS = {"pydantic"}
SETTINGS = OPTIONS | {"asyncio", "pydantic_settings", "yaml"}


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("--help", set()),
        ("demo --help", set()),
        ("sandbox --help", set()),
        ("check --help", OPTIONS),
        ("backfill --help", OPTIONS),
        ("call --help", OPTIONS),
        ("call --list", OPTIONS | {"rich"}),
        ("call --list -o json", OPTIONS),
        ("config --help", OPTIONS),
        ("config init --help", OPTIONS),
        ("run --help", OPTIONS | {"asyncio"}),
        ("run --help-all", OPTIONS | {"asyncio"}),
        ("call dns_statistics id=1 --dry-run --config FILE", SETTINGS | {"rich"}),
        ("check --offline --config FILE", SETTINGS),
        ("config show --config FILE", SETTINGS),
        ("check --config FILE", SETTINGS | {"aiohttp", "rich", "isal", "structlog"}),
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
