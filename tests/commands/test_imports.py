"""The heavy modules that a command imports: its own, and those of no other command."""

import re
import socket
import sys
from pathlib import Path

import pytest

from tests.deploy.files import run

HEAVY = frozenset(
    {
        "aiohttp", "apscheduler", "asyncio", "bcrypt", "fastapi", "httpx", "importlib.metadata", "isal", "jinja2",
        "jmespath", "msgspec", "prometheus_client", "psycopg", "pydantic", "pydantic_settings",
        "sqlite3", "ssl", "starlette", "structlog", "tabulate", "uvicorn", "yaml",
    }
)  # fmt: skip
CONFIGURATION = """
accounts:
  - {name: main, base_url: "http://127.0.0.1:9", api_key: a-key}
"""
# Pydantic looks for plugins when it builds the first validator; pydantic-settings imports asyncio.
READ = {"asyncio", "importlib.metadata", "jmespath", "pydantic", "pydantic_settings", "ssl", "yaml"}
# The HTTP library is imported with the first call, and that of the pages with the first page.
SERVES = HEAVY - {"aiohttp", "fastapi", "jinja2", "psycopg", "tabulate"}


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("--help", set()),
        ("--version", {"importlib.metadata"}),
        ("r?", set()),
        ("explain --help", READ),
        # An address that is taken: the daemon listens before it imports what polls and pages need.
        ("run --config FILE --state.path null --web.listen 127.0.0.1:PORT", SERVES),
    ],
)
def test_a_command_or_a_completion_imports_what_it_needs(words: str, allowed: set[str], tmp_path: Path) -> None:
    """A line that ends in a question mark is completed there."""
    (tmp_path / "edge.yml").write_text(CONFIGURATION)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        filled = words.replace("FILE", str(tmp_path / "edge.yml")).replace("PORT", str(taken.getsockname()[1]))
        typed, is_completed, _ = filled.partition("?")
        asked = {"COMP_WORDS": f"edge-exporter {typed}", "COMP_CWORD": str(1 + typed.count(" "))}
        environ = {"_EDGE_EXPORTER_COMPLETE": "bash_complete", **asked} if is_completed else {}
        environ |= {"EDGE_EXPORTER_CONFIG": str(tmp_path / "edge.yml")}
        arguments = [] if is_completed else typed.split()
        ran = run(sys.executable, "-X", "importtime", "-m", "exporter", *arguments, environ=environ)
    assert (bool(ran.stdout) or "cannot listen on" in ran.stderr, "Traceback" in ran.stderr) == (True, False)
    assert sorted(HEAVY.intersection(imported(ran.stderr)) - allowed) == []


def imported(report: str) -> list[str]:
    """Return the modules in Python's report of imports."""
    return re.findall(r"^import time: .*\| +(\S+)$", report, re.MULTILINE)


def test_a_health_check_imports_pythons_own_client_alone() -> None:
    ran = run(sys.executable, "-X", "importtime", "-c", "import exporter.commands.health_check")
    assert ran.returncode == 0
    assert HEAVY.intersection(imported(ran.stderr)) == {"ssl"}
