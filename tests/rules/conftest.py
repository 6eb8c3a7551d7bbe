"""The programs that check the rules: promtool and amtool."""

import pytest

from tests.real_parts import Release, find, find_promtool


@pytest.fixture(scope="session", params=[Release.INSTALLED, Release.NEWEST], ids=["prometheus-2", "prometheus-3"])
def promtool(request: pytest.FixtureRequest) -> str:
    """The promtool of both supported major releases."""
    return find_promtool(request.param)


@pytest.fixture(scope="session")
def amtool() -> str:
    """Alertmanager's command-line tool."""
    return find("amtool")
