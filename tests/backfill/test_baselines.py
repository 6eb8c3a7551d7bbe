"""A state that cannot be used is said; no history is written from it."""

from pathlib import Path

import pytest

from exporter.backfill.baselines import BaselineError, RecordedBaselines, open_file_baselines, recorded_in_file
from exporter.clock import SYSTEM
from exporter.collectors.collector import Polled
from exporter.collectors.dns_statistics import COLLECTOR
from exporter.counters.rows import StateRow
from exporter.counters.state_file import StateLock
from exporter.targets.target import Target


async def poll() -> Polled:
    return Polled(())


async def test_a_state_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    zone, file = Target("main", "dns_zone", "101"), tmp_path / "state.db"
    file.write_text("no database " * 100)
    with pytest.raises(BaselineError, match="the state cannot be read: file is not a database"):
        await recorded_in_file(file).of(COLLECTOR, zone, poll)
    with pytest.raises(BaselineError, match="received extra data"):
        await RecordedBaselines(lambda _: StateRow("a", 0, b"damaged"), lambda: None).of(COLLECTOR, zone, poll)
    file.unlink()
    lock = StateLock(file)
    with pytest.raises(BaselineError, match="cannot be read: unable to open database file"):
        await open_file_baselines(file, SYSTEM)
    lock.release()
