"""`kill -9` at any moment: what was served is on disk, nothing is lost and nothing is counted twice."""

import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from exporter.counters.state_file import StateFile
from exporter.counters.storage import unpack
from tests.counters.book import Book, key_of
from tests.counters.killed import NUMBER, ZONES

KILLS = 25
ROOT = Path(__file__).parents[2]


class Life:
    """A process that counts, and what it served."""

    def __init__(self, state: Path, truth: Path) -> None:
        self.served: dict[str, list[int]] = {zone: [] for zone in ZONES}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.counters.killed", state, truth], stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        self._began = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._began.wait(30), "the process served nothing"

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
        """End it at once, and read what it had served."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


# The platform's truth, the lives, and what was on disk after each.
Lives = tuple[Path, list[Life], list[dict[str, float]]]


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Lives:
    """Lives that were killed one after the other, and what was on disk after each."""
    folder = tmp_path_factory.mktemp("lives")
    state, truth = folder / "state.db", folder / "truth"
    truth.write_bytes(NUMBER.pack(1000))
    chance = random.Random(4)  # noqa: S311 - repeatable
    lived: list[Life] = []
    disks: list[dict[str, float]] = []
    for _ in range(KILLS):
        life = Life(state, truth)
        life._reader.join(timeout=chance.uniform(0, 0.12))
        life.kill()
        lived.append(life)
        disks.append(on_disk(state, folder))
    return truth, lived, disks


def on_disk(state: Path, folder: Path) -> dict[str, float]:
    """What a copy of the files holds, so that the next life finds them as the kill left them."""
    copy = folder / "copy.db"
    for suffix in ("", "-wal"):
        piece = state.with_name(state.name + suffix)
        if piece.exists():
            shutil.copy(piece, copy.with_name(copy.name + suffix))
    file = StateFile(copy)
    rows = {key.target.id: unpack(row.data)["edge_dns_queries_total"][()].value for key, row in file.rows()}
    file.close()
    for suffix in ("", "-wal", "-shm"):
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    return rows


def test_each_life_served_something_before_it_was_killed(lives: Lives) -> None:
    _, lived, _ = lives
    assert len(lived) == KILLS
    assert all(life.served[zone] for life in lived for zone in ZONES)


def test_no_counter_ever_falls(lives: Lives) -> None:
    _, lived, _ = lives
    for zone in ZONES:
        served = [value for life in lived for value in life.served[zone]]
        assert served == sorted(served)


def test_what_was_served_is_on_disk(lives: Lives) -> None:
    _, lived, disks = lives
    for life, disk in zip(lived, disks, strict=True):
        for zone in ZONES:
            assert disk.get(zone, 0) >= max(life.served[zone], default=0)


def test_after_the_last_kill_the_counters_equal_what_the_platform_served(lives: Lives) -> None:
    """The first poll saw 1,001 queries, which are history; all others count once."""
    truth, _, _ = lives
    (count,) = NUMBER.unpack(truth.read_bytes())
    with Book(truth.with_name("state.db")) as book:
        assert [book.poll(count + 5, zone) for zone in ZONES] == [count + 5 - 1001] * 3


def test_the_lock_of_a_killed_process_is_free(lives: Lives) -> None:
    truth, _, _ = lives
    with Book(truth.with_name("state.db")) as book:
        assert key_of(ZONES[0]) in book.ledger.remembered()
        assert truth.with_name("state.db.lock").read_text().splitlines()[0] == str(os.getpid())
