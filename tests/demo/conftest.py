"""Fixtures: one demo that several tests read, and one Prometheus that scrapes it."""

from collections.abc import Iterator

import pytest

from tests.demo.running_demo import Demo, demo_running, prometheus_beside
from tests.real_parts import Prometheus


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """Run the demo, and wait until everything was polled once."""
    with demo_running() as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Run a Prometheus for all tests of a file."""
    with prometheus_beside(demo, tmp_path_factory.mktemp("prometheus")) as running:
        yield running
