"""Measures the cost of whole polls: a daemon polls an nginx with 30-day charts for each of many zones."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.child import Child
from tests.bench.plan import Plan
from tests.bench.report import Report, Table, ratio
from tests.bench.whole import daemon
from tests.bench.zones_nginx import ZonesNginx, zones_nginx

PATIENCE = 900.0
STEP = 0.2
# Within so many seconds what was polled last is counted, rendered and compressed.
SETTLING_SECONDS = 3.0
FASTEST = 100_000


def measure(plan: Plan, report: Report) -> None:
    """Measure polls for each CPU second of the daemon: call, model, charts, durable counters, exposition."""
    if shutil.which("nginx") is None:
        return
    zones, interval = plan.polled_zones, plan.polled_interval
    columns = ("answers", "polls", "polls a CPU second", "CPU of a core", "MiB")
    table = Table(f"Whole polls of {zones:,} zones, each {interval:g} s", columns)
    with zones_nginx() as platform, daemon(platform.url, zones, interval, rate=FASTEST) as child:
        watch = _Watch(platform, child)
        # The start of the process is in it, about a second of processor time.
        _wait(lambda: platform.requests() >= zones)
        time.sleep(SETTLING_SECONDS)
        table.add("the first of each zone", *watch.row(_Mark(0, 0.0, watch.began)))
        grown = 0
        for answers, grows in (("today has grown", True), ("byte for byte the same", False)):
            # The first round of each kind is not measured: answers of the kind before come in it.
            for round_number in range(plan.polled_rounds + 1):
                grown += grows
                platform.write(grown)
                if round_number == 1:
                    mark = watch.mark()
                time.sleep(interval)
            table.add(answers, *watch.row(mark))
    report.add(table)


@dataclass(frozen=True, slots=True)
class _Mark:
    """The number of requests and the used processor time at a moment."""

    requests: int
    used: float
    at: float


class _Watch:
    def __init__(self, platform: ZonesNginx, child: Child) -> None:
        self._platform = platform
        self._child = child
        self.began = time.monotonic()

    def mark(self) -> _Mark:
        """Return the present numbers."""
        return _Mark(self._platform.requests(), self._child.cpu(), time.monotonic())

    def row(self, since: _Mark) -> tuple[int, float, float, float]:
        """Return the change since a mark, as cells of the table."""
        now = self.mark()
        polls, used = now.requests - since.requests, now.used - since.used
        return polls, ratio(polls, used), used / (now.at - since.at), self._child.rss()


def _wait(is_over: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_over():
        if time.monotonic() > until:
            raise RuntimeError(f"not every zone was polled within {PATIENCE:g} s")
        time.sleep(STEP)
