"""Measures the exporter's process: its memory, its handles, and the delay of its event loop."""

import asyncio
import os
import threading
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.bench.process import memory

STEP = 0.01


@dataclass
class Gauges:
    """Measures once a second, and the loop's lag a hundred times a second.

    Attributes:
        lags: seconds by which the event loop came late by the exporter's own doing.
        waits: seconds by which it came late because the machine ran something else.
        readings: resident bytes, open file handles, threads and tasks of the event loop, a reading a second.
    """

    # As bare numbers: they are many, and must not themselves be the growth that is measured.
    lags: "array[float]" = field(default_factory=lambda: array("d"))
    waits: "array[float]" = field(default_factory=lambda: array("d"))
    readings: list[tuple[int, int, int, int]] = field(default_factory=list)

    async def measure(self) -> None:
        """Measure repeatedly, until cancelled."""
        due = time.monotonic()
        waited = waited_for_processor()
        while True:
            before = time.monotonic()
            await asyncio.sleep(STEP)
            now = time.monotonic()
            before_that, waited = waited, waited_for_processor()
            late = max(0.0, now - before - STEP)
            wait = min(late, waited - before_that)
            self.lags.append(late - wait)
            self.waits.append(wait)
            if now >= due:
                due = now + 1.0
                handles = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a handle of its own is part of either
                tasks = len(asyncio.all_tasks())
                self.readings.append((memory(os.getpid())[0], handles, threading.active_count(), tasks))


def waited_for_processor() -> float:
    """Return the seconds that this thread was ready to run while every processor was busy with other work."""
    statistics = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
    return int(statistics.read_text().split()[1]) / 1e9 if statistics.exists() else 0.0


def share(readings: Sequence[float], part: float) -> float:
    """Return the value below which this share of all readings lies."""
    ordered = sorted(readings)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def levels(readings: Sequence[int]) -> tuple[float, float]:
    """Return the levels of readings in their second quarter and in their last; the first quarter is for warming up."""
    quarter = max(1, len(readings) // 4)
    return median(readings[quarter : 2 * quarter]), median(readings[-quarter:])
