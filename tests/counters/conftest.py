"""Fixtures of several tests of the counters."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.counters.sandboxed_daemons import SandboxedDaemons, sandboxed_daemons


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a state file that does not exist yet."""
    return tmp_path / "state.db"


@pytest.fixture
async def sandboxed(tmp_path: Path) -> AsyncIterator[SandboxedDaemons]:
    """Run a sandbox for daemons that keep their state in the test's folder."""
    async with sandboxed_daemons(tmp_path) as made:
        yield made


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Return a list that gets each new SQLite connection, so that a test can use one on its own thread."""
    made: list[sqlite3.Connection] = []
    connect: Any = sqlite3.connect

    def note(*args: Any, **settings: Any) -> sqlite3.Connection:
        made.append(connect(*args, check_same_thread=False, **settings))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", note)
    return made
