import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from exporter.counters.rows import StateRow
from exporter.counters.state_file import FileStorage, rename_aside, rows_of
from exporter.counters.storage import StorageError
from exporter.targets.target import PollKey
from tests.counters.ledger_driver import WALL, file_storage, key_of, write_rows

ZONE = key_of("102")
SCRIPT = PollKey.of("scripts", "main", "script", "7")
ROWS = {
    PollKey.of(collector, "main", kind, str(number)): StateRow(
        f"{kind}-{number}.example", WALL + number, bytes([number % 256]) * 900
    )
    for collector, kind in (("dns_statistics", "dns_zone"), ("scripts", "script"))
    for number in range(40)
}


@asynccontextmanager
async def opened(
    path: Path, set_aside: Callable[[float], None] | None = None
) -> AsyncIterator[tuple[FileStorage, dict[PollKey, StateRow]]]:
    """Open a file; return it and its rows."""
    storage = file_storage(path, set_aside)
    yield storage, await storage.open()
    await storage.close()


def read(path: Path, set_aside: Callable[[float], None] | None = None) -> dict[PollKey, StateRow]:
    async def found() -> dict[PollKey, StateRow]:
        async with opened(path, set_aside) as (_, rows):
            return rows

    return asyncio.run(found())


def test_rows_come_back_as_they_were_committed_last(path: Path) -> None:
    write_rows(path, {**ROWS, ZONE: StateRow("shop.example", WALL, b"a"), SCRIPT: StateRow("router", WALL, b"b")})
    replaced = StateRow("shop.example.org", WALL + 1, b"b")
    write_rows(path, {ZONE: replaced, SCRIPT: None, PollKey.of("scripts", "main", "script", "absent"): None})
    assert read(path) == {**{key: row for key, row in ROWS.items() if key != SCRIPT}, ZONE: replaced}


async def test_a_commit_that_fails_writes_nothing_and_the_next_goes_well(path: Path) -> None:
    async with opened(path) as (storage, _):
        await storage.commit({ZONE: StateRow("shop.example", WALL, b"a")})
        with pytest.raises(StorageError, match="NOT NULL constraint failed"):
            await storage.commit({SCRIPT: StateRow("router", WALL, b"b"), ZONE: StateRow("x", float("nan"), b"c")})
        await storage.open()
        await storage.commit({ZONE: StateRow("shop.example", WALL, b"d")})
    async with opened(path) as (_, rows):
        assert rows == {ZONE: StateRow("shop.example", WALL, b"d")}


def test_half_a_character_in_a_text_stops_no_commit(path: Path) -> None:
    written, deleted = PollKey.of("scripts", "m\udc00", "script", "7"), PollKey.of("scripts", "\udc00", "s", "")
    write_rows(path, {written: StateRow("n\ud800\0", WALL, b"a"), deleted: None, ZONE: StateRow("n\0", WALL, b"b")})
    key = PollKey.of("scripts", "m?", "script", "7")
    assert read(path) == {key: StateRow("n??", WALL, b"a"), ZONE: StateRow("n?", WALL, b"b")}


def test_backfill_reads_a_file_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "\udcff.db"
    write_rows(path, ROWS)
    assert rows_of(path, ["dns_statistics", "scripts"]) == ROWS


def test_no_flipped_bit_makes_other_rows(path: Path, tmp_path: Path) -> None:
    """With any wrong bit in the file, either the rows are those that were written, or the file is refused."""
    write_rows(path, ROWS)
    whole = path.read_bytes()
    chance = random.Random(4)  # noqa: S311 - repeatable
    copy = tmp_path / "copy.db"
    refused: list[float] = []
    for number in range(1, 1501):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        copy.write_bytes(damaged)
        assert read(copy, refused.append) in (ROWS, {}), number
    assert len(refused) > 500


def test_a_damaged_file_is_set_aside_with_its_journal(path: Path) -> None:
    aside, pieces = "state.db.corrupt-20260206T120000Z", ("", "-wal", "-shm")
    for suffix in pieces:
        path.with_name(path.name + suffix).write_text(suffix)
    assert rename_aside(path, WALL).name == aside
    assert {piece.name: piece.read_text() for piece in path.parent.iterdir()} == {aside + one: one for one in pieces}
