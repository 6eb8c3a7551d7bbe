"""The scenario with one fault of each kind; `make chaos` has 300 of them."""

from pathlib import Path

import pytest

from tests.chaos.scenario import Scenario, Size
from tests.postgres import Postgres


@pytest.mark.real
async def test_counters_are_exact_and_never_fall_whatever_happens_to_replicas_and_their_database(
    tmp_path: Path, postgres: Postgres
) -> None:
    size = Size(events=7, zones=20, scripts=3, shields=2, interval=2.0)
    report = await Scenario(size, tmp_path, postgres, print).run()
    assert (report["differences"], report["falls"]) == ([], [])
    assert report["events"] == dict.fromkeys(("kill", "suspend", "hang", "cut", "restart", "more", "fewer"), 1)
    assert report["series"] > 60
    assert report["losses"] > 0
