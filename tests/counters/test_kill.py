"""`kill -9` at any moment: served values are on disk, nothing is lost and nothing is counted twice."""

import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.counters.rows import unpack
from tests.counters.killed import NUMBER, ZONES, location_of
from tests.counters.ledger_driver import LedgerDriver, key_of
from tests.counters.state_locations import DatabaseLocation, FileLocation
from tests.postgres import Postgres
from tests.waiting import PATIENCE

KILLS = 12
# Each life waits for the end of the last one's lease.
KILLS_ON_A_DATABASE = 4
ROOT = Path(__file__).parents[2]


class Life:
    """A process that counts, and the values that it served."""

    def __init__(self, state: str, truth: Path) -> None:
        self.served: dict[str, list[int]] = {zone: [] for zone in ZONES}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.counters.killed", state, truth], stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        self._began = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._began.wait(PATIENCE), "the process served nothing"

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            zone, _, value = line.strip().partition(" ")
            # A line that the kill cut off was not served.
            if line.endswith("\n"):
                self.served[zone].append(int(value))
            if all(self.served.values()):
                self._began.set()

    def kill(self) -> None:
        """Kill it, and read the served values."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@dataclass
class Lives:
    """The platform's true counts, the runs, and the stored rows after each."""

    location: FileLocation | DatabaseLocation
    truth: Path
    lived: list[Life]
    stored: list[dict[str, float]]


@pytest.fixture(scope="module", params=["file", "database"])
def lives(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lives:
    """Run the process several times, and kill it each time."""
    folder = tmp_path_factory.mktemp("lives")
    state, kills = str(folder), KILLS
    if request.param == "database":
        postgres: Postgres = request.getfixturevalue("postgres")
        state, kills = postgres.new_database(), KILLS_ON_A_DATABASE
    truth = folder / "truth"
    truth.write_bytes(NUMBER.pack(1000))
    chance = random.Random(4)  # noqa: S311 - repeatable
    result = Lives(location_of(state), truth, [], [])
    for _ in range(kills):
        life = Life(state, truth)
        life._reader.join(timeout=chance.uniform(0, 0.12))
        life.kill()
        result.lived.append(life)
        rows = result.location.rows()
        result.stored.append(
            {key.target.id: unpack(row.data)["edge_dns_queries_total"][()].value for key, row in rows.items()}
        )
    return result


def test_each_life_served_something_before_it_was_killed(lives: Lives) -> None:
    assert all(life.served[zone] for life in lives.lived for zone in ZONES)


def test_no_counter_ever_falls(lives: Lives) -> None:
    for zone in ZONES:
        served = [value for life in lives.lived for value in life.served[zone]]
        assert served == sorted(served)


def test_what_was_served_is_stored(lives: Lives) -> None:
    for life, stored in zip(lives.lived, lives.stored, strict=True):
        for zone in ZONES:
            assert stored.get(zone, 0) >= max(life.served[zone], default=0)


def test_after_the_last_kill_the_counters_equal_what_the_platform_served(lives: Lives) -> None:
    """The first poll saw 1,001 queries, which are history; all others are counted once."""
    (count,) = NUMBER.unpack(lives.truth.read_bytes())
    with LedgerDriver(lives.location.storage(time.time, lambda _at: None), attempts=1000) as driver:
        assert key_of(ZONES[0]) in driver.ledger.remembered()
        assert [driver.poll(count + 5, zone) for zone in ZONES] == [count + 5 - 1001] * 3
        if isinstance(lives.location, FileLocation):
            lock = lives.location.path.with_name("state.db.lock")
            assert lock.read_text().splitlines()[0] == str(os.getpid())
