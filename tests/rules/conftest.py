"""The real parts that judge the rules: promtool, Alertmanager and its amtool."""

import pytest

from tests.real_parts import Release, find, find_promtool


@pytest.fixture(scope="session", params=[Release.INSTALLED, Release.NEWEST], ids=["prometheus-2", "prometheus-3"])
def promtool(request: pytest.FixtureRequest) -> str:
    """Prometheus's own checker, of both releases that the rules are made for."""
    return find_promtool(request.param)


@pytest.fixture(scope="session")
def amtool() -> str:
    """Alertmanager's own checker."""
    return find("amtool")
