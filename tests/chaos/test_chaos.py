"""The scenario with two faults; `make chaos` has ten minutes of them."""

from pathlib import Path

import pytest

from tests.chaos.scenario import Scenario, Size
from tests.postgres import Postgres


@pytest.mark.real("prometheus")
async def test_counters_are_exact_never_fall_and_are_served_once_though_holders_are_killed_and_suspended(
    tmp_path: Path, postgres: Postgres
) -> None:
    size = Size(seconds=0, first=("kill", "suspend"), rows=2000, zones=12, scripts=2, shields=2, interval=1.0)
    report = await Scenario(size, tmp_path, postgres, print).run()
    assert (report["differences"], report["falls"], report["doubles"]) == ([], [], [])
    assert report["events"] == {"kill": 1, "suspend": 1}
    assert report["series"] > 30
