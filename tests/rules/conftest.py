"""The real parts that judge the rules: promtool, Alertmanager and its amtool."""

import pytest

from tests.real_parts import find


@pytest.fixture(scope="session")
def promtool() -> str:
    """Prometheus's own checker."""
    return find("promtool")


@pytest.fixture(scope="session")
def amtool() -> str:
    """Alertmanager's own checker."""
    return find("amtool")
