"""Fixtures and hooks for all tests: workers, a PostgreSQL, and the reset of the log configuration."""

import gc
import os
import time
from collections.abc import Generator, Iterator
from functools import cache
from inspect import signature
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final

import httpx
import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.postgres import Postgres, postgres_running
from tests.real_parts import find
from tests.waiting import PATIENCE

TESTS: Final = Path(__file__).parent
# The files that take longest, the longest first: a run would end with one of them alone if it began late.
LONGEST: Final = tuple(
    TESTS / name
    for name in (
        "test_new_collector.py",
        "browser/test_status_page.py",
        "demo/test_alerts.py",
        "rules/test_rules.py",
        "backfill/test_real.py",
        "counters/test_daemon_database.py",
        "deploy/test_container.py",
        "web/test_probes.py",
        "web/test_descriptors.py",
        "dashboards/test_incidents.py",
        "commands/call/test_call.py",
        "demo/test_demo.py",
        "test_daemon.py",
    )
)

# No result may depend on the time zone of the machine: here, a day begins 14 hours before it does in UTC.
os.environ["TZ"] = "Kiritimati-14"
time.tzset()
# The suite tries few examples of each property, and new ones in each run; `make fuzz` has a profile with many examples.
# Hypothesis' checks of speed are off, because they would fail on a busy machine.
SPEED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
settings.register_profile("suite", max_examples=20, deadline=None, suppress_health_check=SPEED)
settings.load_profile("suite")
settings.register_profile(
    "fuzz",
    max_examples=300,
    deadline=None,
    database=DirectoryBasedExampleDatabase(TESTS.parent / ".fuzz"),
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
# On a busy machine, httpx's default time limit of five seconds may also be too short.
for phase in ("connect", "read", "write", "pool"):
    setattr(signature(httpx.Client).parameters["timeout"].default, phase, PATIENCE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use five more workers than there are cores, because some tests always wait for a scrape or a process."""
    return len(os.sched_getaffinity(0)) + 5


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without garbage collection; later, collect garbage less often, and never the test items."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start with the longest files, in turn with other files, so that no core is idle at the end."""
    if hasattr(config, "workerinput"):
        others = [path for path in dict.fromkeys(item.path for item in items) if path not in LONGEST]
        order = {path: place for place, path in enumerate(chain.from_iterable(zip_longest(LONGEST, others)))}
        items.sort(key=lambda item: order[item.path])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test, before its fixtures are made, if a program that its marker names is missing."""
    for marker in item.iter_markers("real"):
        for part in marker.args:
            find(part)


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """Run a real PostgreSQL, started for the first test that uses it."""
    own = tmp_path_factory.getbasetemp()
    with postgres_running(own.parent if hasattr(request.config, "workerinput") else own) as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """Make httpx read the machine's certificates once, and not for each client, which takes 20 ms."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("httpx._transports.default.create_ssl_context", cache(httpx.create_ssl_context))
        yield


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """Reset the log configuration after each test; otherwise one test's log level would hide another test's lines."""
    yield
    structlog.reset_defaults()
