"""The program that checks the rules."""

import pytest

from tests.real_parts import Release, find_of


@pytest.fixture(scope="session", params=[Release.INSTALLED, Release.NEWEST], ids=["prometheus-2", "prometheus-3"])
def promtool(request: pytest.FixtureRequest) -> str:
    """The promtool of both supported major releases."""
    return find_of(request.param, "promtool")
