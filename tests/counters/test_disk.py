"""A disk that is full, read-only or locked: counters do not change, none falls, and the missing counts follow later."""

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from structlog.testing import capture_logs

from exporter.counters import state_file
from exporter.counters.rows import packed_lists
from tests.counters.ledger_driver import LedgerDriver
from tests.real_parts import find
from tests.waiting import wait_until


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk takes the right to mount: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only briefly for a locked file."""
    monkeypatch.setattr(state_file, "BUSY_SECONDS", 0.01)


def fill(disk: Path) -> Path:
    """Fill the rest of a disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (4096, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return ballast


def test_on_a_full_disk_counters_stand_and_the_rest_comes_later(small_disk: Path) -> None:
    path = small_disk / "state.db"
    # The logs are captured until the ledger is closed, because its thread may log after a counter was served.
    with capture_logs() as logs, LedgerDriver(path) as driver:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
        ballast = fill(small_disk)
        # Counts are written until the journal is full; then counters do not change.
        served = [driver.poll(50 + count) for count in range(400)]
        assert driver.ledger.fault
        assert served == sorted(value or 0 for value in served)
        stood = served[-1]
        assert stood is not None
        assert stood < 409
        assert served[-2] == stood
        ballast.unlink()
        assert driver.poll(460) == 420
        assert not driver.ledger.fault
    assert [line["event"] for line in logs] == [
        "state not read or saved, counters do not change or are not served",
        "state read and saved again",
    ]
    with LedgerDriver(path) as driver:
        assert driver.poll(461) == 421


def test_on_a_disk_that_is_full_from_the_start_counting_begins_when_there_is_room(small_disk: Path) -> None:
    ballast = fill(small_disk)
    with LedgerDriver(small_disk / "state.db") as driver:
        assert [driver.poll(count) for count in (40, 45)] == [None, None]
        ballast.unlink()
        assert [driver.poll(count) for count in (50, 60)] == [0, 10]
        assert driver.asides == []


def protect(path: Path, *, on: bool) -> None:
    """Forbid all users, including root, to write a state file, or allow it again."""
    if os.geteuid():
        # SQLite has made the journal beside it with its mode.
        for each in [path] if on else path.parent.glob(f"{path.name}*"):
            each.chmod(0o444 if on else 0o644)
        return
    made = subprocess.run([find("chattr"), "+i" if on else "-i", path], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"a file that root too cannot write takes the right to chattr: {made.stderr.strip()}")


def test_of_a_read_only_file_nothing_is_served_until_it_can_be_written(path: Path) -> None:
    with LedgerDriver(path) as driver:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
    protect(path, on=True)
    try:
        with LedgerDriver(path) as driver:
            assert [driver.poll(count) for count in (50, 55)] == [None, None]
            assert driver.ledger.fault
            protect(path, on=False)
            assert driver.poll(60) == 20
    finally:
        protect(path, on=False)


def test_a_file_that_another_connection_locks_stands_until_it_lets_go(path: Path) -> None:
    with LedgerDriver(path, retry=0.05, monotonic=time.monotonic) as driver:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        assert [driver.poll(count) for count in (50, 55)] == [5, 5]
        # A series that is not on disk yet is not served at all.
        assert [driver.poll(count, "103") for count in (9, 10)] == [None, None]
        other.close()
        wait_until(lambda: not driver.ledger.fault, step=0.02)
        assert driver.remembered_count() == 15
        assert driver.poll(11, "103") == 2


def test_a_file_that_is_locked_at_the_start_is_read_when_it_is_free(path: Path) -> None:
    with LedgerDriver(path) as driver:
        driver.ledger.store_list("main", "dns_zone", b"an old list")
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with LedgerDriver(path) as driver:
        driver.ledger.store_list("main", "dns_zone", b"the new list")
        assert [driver.poll(count) for count in (50, 55)] == [None, None]
        other.close()
        assert driver.poll(60) == 20
        assert packed_lists(driver.ledger.remembered()) == {("main", "dns_zone"): b"the new list"}
        assert driver.asides == []


def test_a_fault_ends_with_its_cause_although_nothing_is_polled(path: Path) -> None:
    with LedgerDriver(path):
        pass
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with LedgerDriver(path, retry=0.05, monotonic=time.monotonic) as driver:
        assert driver.ledger.fault
        other.close()
        wait_until(lambda: not driver.ledger.fault, step=0.02)


def test_a_failed_write_is_tried_again_not_for_every_poll_but_at_the_end(path: Path) -> None:
    with LedgerDriver(path, retry=5.0) as driver:
        assert driver.poll(40) == 0
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with patch.object(driver.storage, "keep_open", wraps=driver.storage.keep_open) as keep_open:
            assert [driver.poll(count) for count in (50, 55, 60)] == [0, 0, 0]
        assert keep_open.call_count == 1
        other.close()
        assert driver.poll(65) == 0
    with LedgerDriver(path) as driver:
        assert driver.remembered_count() == 25
