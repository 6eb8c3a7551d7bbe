"""Damaged, deleted or replaced state files: no file is lost, and no counter falls during a run."""

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from exporter.counters.storage import StateLockedError
from tests.counters.ledger_driver import LedgerDriver, file_storage

ASIDE = "state.db.corrupt-20260206T120000Z"


def asides(path: Path) -> list[str]:
    """Return the files that were set aside."""
    return sorted(piece.name for piece in path.parent.glob("*.corrupt-*"))


def overwrite(path: Path, place: int, text: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[place : place + len(text)] = text
    path.write_bytes(whole)


def flip_a_bit_of_a_row(path: Path) -> None:
    """Flip a bit in the middle of the rows."""
    whole = path.read_bytes()
    place = whole.rindex(b"edge_dns_queries_total") + 25
    overwrite(path, place, bytes([whole[place] ^ 4]))


def noise(size: int) -> bytes:
    """Return the same noise each time."""
    return random.Random(4).randbytes(size)  # noqa: S311 - repeatable


def run(path: Path, statement: str, *, is_new: bool = False) -> None:
    """Run a statement in the database, or in a new one in its place."""
    if is_new:
        path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)


NOTE = b"not a database, but a note that someone has written in the wrong place"
NOT_OURS = "its schema is 0; expected 4"
Damage = Callable[[Path], object]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "header": (lambda path: overwrite(path, 0, NOTE), "file is not a database"),
    "a bit": (flip_a_bit_of_a_row, "a row is damaged"),
    "half": (lambda path: os.truncate(path, path.stat().st_size // 2), "database disk image is malformed"),
    "pages": (lambda path: overwrite(path, 4096, noise(path.stat().st_size - 4096)), "its pages are damaged"),
    "newer": (lambda path: run(path, "PRAGMA user_version = 99"), "its schema is 99; expected 4"),
    "empty": (lambda path: path.write_bytes(b""), "it is empty"),
    "no tables": (lambda path: run(path, "VACUUM", is_new=True), NOT_OURS),
    "another's": (lambda path: run(path, "CREATE TABLE album (title TEXT)", is_new=True), NOT_OURS),
}


@pytest.mark.parametrize(("damage", "error"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_set_aside_and_counters_start_anew(path: Path, damage: Damage, error: str) -> None:
    with LedgerDriver(path) as driver:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
    damage(path)
    damaged = path.read_bytes()
    with capture_logs() as logs, LedgerDriver(path) as driver:
        assert [driver.poll(count) for count in (50, 57)] == [0, 7]
        assert driver.asides == [1770379200.0]
        assert not driver.ledger.fault
    assert asides(path) == [ASIDE]
    assert (path.parent / ASIDE).read_bytes() == damaged
    assert [(line["event"], line["aside"]) for line in logs] == [("state file set aside", str(path.parent / ASIDE))]
    assert logs[0]["error"] == error
    with LedgerDriver(path) as driver:
        assert driver.poll(60) == 10


@pytest.mark.parametrize("damage", ["header", "pages"])
def test_a_file_that_is_damaged_under_a_running_process_is_set_aside_and_counters_go_on(
    path: Path, connections: list[sqlite3.Connection], damage: str
) -> None:
    with LedgerDriver(path) as driver:
        for zone in range(50):
            driver.poll(1, str(zone))
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
        connections[-1].execute("PRAGMA wal_checkpoint(TRUNCATE)")
        DAMAGES[damage][0](path)
        # What SQLite holds in memory hides the damage from it.
        connections[-1].execute("PRAGMA shrink_memory")
        served = [driver.poll(45 + count) for count in range(1, 20)]
        assert served == sorted(value or 0 for value in served)
        assert driver.poll(70) == 30
        assert asides(path) == [ASIDE]
    with LedgerDriver(path) as driver:
        assert driver.poll(71) == 31
        assert driver.poll(2, "7") == 1


def test_damage_that_a_commit_meets_is_set_aside(path: Path) -> None:
    with LedgerDriver(path) as driver:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
        run(path, "DROP TABLE row")
        assert [driver.poll(count) for count in (50, 51)] == [5, 11]
        assert asides(path) == [ASIDE]
        # The new file is not damaged.
        delete_everything(path)
        assert driver.poll(52) == 12
        assert driver.asides == [1770379200.0]
    with LedgerDriver(path) as driver:
        assert driver.poll(53) == 13


def delete_everything(path: Path) -> None:
    """Delete the file, its journal and its lock."""
    for piece in path.parent.glob("state.db*"):
        piece.unlink()


SET_ASIDE = ["state file set aside"]


@pytest.mark.parametrize(
    ("lose", "further"),
    [
        (delete_everything, []),
        (lambda path: shutil.rmtree(path.parent), []),
        (lambda path: (path.unlink(), path.touch()), SET_ASIDE),
        (lambda path: os.truncate(path, 0), []),
    ],
    ids=["everything", "folder", "replaced", "emptied"],
)
def test_a_file_that_is_deleted_under_a_running_process_is_made_anew(
    tmp_path: Path, connections: list[sqlite3.Connection], lose: Damage, further: list[str]
) -> None:
    path = tmp_path / "state" / "state.db"
    with LedgerDriver(path) as driver, capture_logs() as logs:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
        driver.poll(9, "103")
        lost = connections[-1]
        lose(path)
        assert driver.poll(50) == 10
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            lost.execute("SELECT 1")
        events = [line["event"] for line in logs]
    assert events == ["state file was lost, it is written again", *further]
    with LedgerDriver(path) as driver:
        assert driver.poll(51) == 11
        assert driver.poll(11, "103") == 2


def test_a_backup_that_is_put_in_place_under_a_running_process_does_not_turn_counters_back(path: Path) -> None:
    with LedgerDriver(path) as driver:
        assert driver.poll(40) == 0
    backup = path.with_name("backup.db")
    shutil.copy(path, backup)
    with LedgerDriver(path) as driver:
        assert driver.poll(90) == 50
        delete_everything(path)
        shutil.copy(backup, path)
        assert driver.poll(91) == 51
        # This time, the backup is read with the journal of the file before.
        backup.replace(path)
        assert driver.poll(92) == 52
    with LedgerDriver(path) as driver:
        assert driver.poll(93) == 53


def test_a_journal_that_was_left_behind_by_a_deleted_file_brings_nothing_back(path: Path) -> None:
    with LedgerDriver(path) as driver:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
        journal = path.with_name("state.db-wal").read_bytes()
    path.unlink()
    path.with_name("state.db-wal").write_bytes(journal)
    with LedgerDriver(path) as driver:
        assert [driver.poll(count) for count in (60, 61)] == [0, 1]
        assert driver.asides == []


def test_a_link_to_a_file_that_does_not_exist_yet_names_the_place_for_it(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path.symlink_to(tmp_path / "elsewhere" / "real.db")
    with LedgerDriver(path) as driver:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
    assert path.is_symlink()
    with LedgerDriver(path) as driver:
        assert driver.poll(46) == 6
        with pytest.raises(StateLockedError):
            asyncio.run(file_storage(path.resolve()).open())
