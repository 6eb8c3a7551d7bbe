"""What every test leaves as it was."""

import os
from collections.abc import Iterator
from functools import cache

import httpx
import pytest
import structlog

from tests.postgres import Postgres, postgres_running


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than there are cores: at any time some tests wait for a scrape or for a process."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL, started for the first test that asks for it."""
    with postgres_running() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """Let httpx read the certificates that the machine trusts once, and not for each client, which takes 20 ms."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("httpx._transports.default.create_ssl_context", cache(httpx.create_ssl_context))
        yield


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """The logs' configuration belongs to the process: a level that one test sets would hide another's lines."""
    yield
    structlog.reset_defaults()
