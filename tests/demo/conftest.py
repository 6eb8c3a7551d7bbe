"""Fixtures: one demo that several tests read, and one Prometheus that scrapes it."""

from collections.abc import Iterator

import pytest

from tests.demo.running_demo import Demo, demo_running, prometheus_beside
from tests.real_parts import Prometheus

# In the test's copy of the rules, each rule is evaluated every second, and its alert fires at once.
AT_ONCE = (("interval: 1m\n", "interval: 1s\n"), ("interval: 2m\n", "interval: 1s\n"), ("        for: ", "        # "))


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """Run the demo, and wait until everything was polled once."""
    with demo_running() as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Run a Prometheus with the shipped configuration and rules; its alerts fire at once."""
    with prometheus_beside(demo, tmp_path_factory.mktemp("prometheus"), AT_ONCE) as running:
        yield running
