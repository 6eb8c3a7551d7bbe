import random
from pathlib import Path

import pytest

from exporter.counters.counting import CountedFamily
from exporter.counters.days import DaySeries
from exporter.counters.rows import StateRow, pack, unpack
from exporter.counters.state_file import StateFile, is_damage, put_aside
from exporter.counters.storage import StorageError
from exporter.targets.target import PollKey

NOW = 1_770_379_200.0  # 2026-02-06T12:00:00Z
ZONE = PollKey.of("dns_statistics", "main", "dns_zone", "102")
SCRIPT = PollKey.of("scripts", "main", "script", "7")
ROWS = {
    PollKey.of(collector, "main", kind, str(number)): StateRow(
        f"{kind}-{number}.example", NOW + number, bytes([number % 256]) * 900
    )
    for collector, kind in (("dns_statistics", "dns_zone"), ("scripts", "script"))
    for number in range(40)
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def opened(path: Path) -> StateFile:
    file = StateFile(path, lambda: NOW, None)
    file.prepare()
    return file


def write(path: Path, rows: dict[PollKey, StateRow | None]) -> None:
    """Commit rows and close the file."""
    file = opened(path)
    file.commit(rows)
    file.close()


def read(path: Path) -> dict[PollKey, StateRow]:
    """Return every row of a file."""
    file = StateFile(path, lambda: NOW, None)
    try:
        state = file.prepare()
        return {} if state is None else state.rows
    finally:
        file.close()


def test_rows_come_back_as_they_were_committed_last(path: Path) -> None:
    write(path, {**ROWS, ZONE: StateRow("shop.example", NOW, b"a"), SCRIPT: StateRow("router", NOW, b"b")})
    replaced = StateRow("shop.example.org", NOW + 1, b"b")
    write(path, {ZONE: replaced, SCRIPT: None, PollKey.of("scripts", "main", "script", "absent"): None})
    assert read(path) == {**{key: row for key, row in ROWS.items() if key != SCRIPT}, ZONE: replaced}


def test_a_commit_that_fails_writes_nothing_and_the_next_goes_well(path: Path) -> None:
    file = opened(path)
    file.commit({ZONE: StateRow("shop.example", NOW, b"a")})
    with pytest.raises(StorageError, match="NOT NULL constraint failed"):
        file.commit({SCRIPT: StateRow("router", NOW, b"b"), ZONE: StateRow("x", float("nan"), b"c")})
    file.prepare()
    file.commit({ZONE: StateRow("shop.example", NOW, b"d")})
    file.close()
    assert read(path) == {ZONE: StateRow("shop.example", NOW, b"d")}


def test_half_a_character_in_a_text_stops_no_commit(path: Path) -> None:
    write(
        path,
        {
            PollKey.of("scripts", "m\udc00", "script", "7"): StateRow("n\ud800\0", NOW, b"a"),
            PollKey.of("scripts", "\udc00", "s", ""): None,
        },
    )
    assert read(path) == {PollKey.of("scripts", "m?", "script", "7"): StateRow("n??", NOW, b"a")}


def test_damaged_bytes_are_refused_or_read_but_never_raise_anything_else() -> None:
    chance = random.Random(4)  # noqa: S311 - repeatable
    series = DaySeries(739_653, highs={739_653: 7.5, 739_654: 9.0})
    packed = pack({"edge_a_total": CountedFamily(b"digest", 739_653, {("a",): series}, {("b",): NOW}, is_anew=True)})
    for _ in range(5000):
        damaged = bytearray(packed)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            unpack(bytes(damaged[: chance.randint(1, len(damaged))]))
        except ValueError:
            continue


def read_or_refuse(path: Path) -> dict[PollKey, StateRow] | None:
    """Return every row of a file; None if the file is refused for good."""
    try:
        return read(path)
    except StorageError as error:
        return None if isinstance(error.__cause__, Exception) and is_damage(error.__cause__) else {}


def test_no_flipped_bit_makes_other_rows(path: Path, tmp_path: Path) -> None:
    """With any wrong bit in the file, either the rows are those that were written, or the file is refused."""
    write(path, {**ROWS})
    whole = path.read_bytes()
    chance = random.Random(4)  # noqa: S311 - repeatable
    copy = tmp_path / "copy.db"
    refused = 0
    for _ in range(1500):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        copy.write_bytes(damaged)
        rows = read_or_refuse(copy)
        refused += rows is None
        assert rows in (None, ROWS)
    assert refused > 500


def test_a_damaged_file_is_put_aside_with_its_journal(path: Path) -> None:
    aside, pieces = "state.db.corrupt-20260206T120000Z", ("", "-wal", "-shm")
    for suffix in pieces:
        path.with_name(path.name + suffix).write_text(suffix)
    assert put_aside(path, NOW).name == aside
    assert {piece.name: piece.read_text() for piece in path.parent.iterdir()} == {aside + one: one for one in pieces}
