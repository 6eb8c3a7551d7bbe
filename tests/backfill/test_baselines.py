"""A state that cannot be used is said; no history is written from it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.backfill.baselines import (
    BaselineError,
    Baselines,
    RecordedBaselines,
    open_file_baselines,
    recorded_in_file,
)
from exporter.clock import SYSTEM
from exporter.collectors.collector import Polled
from exporter.counters.rows import StateRow
from exporter.counters.state_file import StateLock
from exporter.targets.target import Target


async def poll() -> Polled:
    return Polled(())


def text(path: Path) -> Baselines:
    path.write_text("no database " * 100)
    return recorded_in_file(path)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (text, "the state cannot be read: file is not a database"),
        (
            lambda _: RecordedBaselines(lambda _key: StateRow("a.example", 0.0, b"damaged"), lambda: None),
            r"unpack\(b\) received extra data",
        ),
    ],
)
async def test_rows_that_cannot_be_read(tmp_path: Path, state: Callable[[Path], Baselines], says: str) -> None:
    with pytest.raises(BaselineError, match=says):
        await state(tmp_path / "state.db").of("dns_statistics", Target("main", "dns_zone", "101"), poll)


def test_a_daemon_that_has_written_nothing_yet(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    lock = StateLock(path)
    with pytest.raises(BaselineError, match=r"state\.db cannot be read: unable to open database file"):
        open_file_baselines(path, SYSTEM)
    lock.release()
