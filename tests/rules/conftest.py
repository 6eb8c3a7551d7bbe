"""The real parts that judge the rules: promtool, Alertmanager and its amtool."""

import pytest

from tests.real_parts import find, find_promtool


@pytest.fixture(scope="session")
def promtool() -> str:
    """Prometheus's own checker."""
    return find_promtool()


@pytest.fixture(scope="session")
def amtool() -> str:
    """Alertmanager's own checker."""
    return find("amtool", install="apt-get install --no-install-recommends prometheus-alertmanager")
