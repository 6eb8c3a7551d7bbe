"""The measurements: what each section starts, and the tables that it returns."""

import gzip
import json
import math
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import load
from tests.bench.alternatives import ALTERNATIVES
from tests.bench.calls import CLIENTS, measure
from tests.bench.measured_process import MIB, Child, cpu_seconds, get, memory, own, polling_zones, sum_of, wait
from tests.bench.nginx_platform import FIRST_ZONE, SERIES_A_ZONE, Platform, platform_serving, write, write_search
from tests.bench.peers import EXPORTER, NGINX, PEERS, beside
from tests.bench.report import Table
from tests.counters.exporter_process import exporter_running

ENCODINGS = ("gzip", "identity")
PAUSE = 0.02
TURNS = 3
# Calls a second that nothing limits.
FASTEST = 100_000
# The last polls are counted, rendered and compressed within this many seconds.
SETTLING_SECONDS = 3.0
# The first polls have ended when this many counts of series, one a second, are equal.
SETTLED = 4
BARE_IN_FLIGHT = 32
CALL_SECONDS = 5.0
# No target is polled a second time while only scrapes are measured.
ONCE = 3600.0
# The shortest interval that the exporter accepts, in seconds.
SHORTEST = 1.0
# The exporter is scraped while it polls, for this many intervals.
REPOLL_TIMES = 4 / 3


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes, in series, targets and zones, and the durations of a run in seconds."""

    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 500_000, 1_000_000)
    # How long the servers of a size are scraped in turn, for each encoding.
    seconds: float = 12.0
    # The interval of polls while the exporter is scraped.
    repoll: float = 15.0
    in_flight: tuple[int, ...] = (1, 8, 64, 256)
    targets: tuple[int, ...] = (0, 1_000, 5_000)
    # Whole polls: how many intervals are measured, for each kind of answers.
    polled_zones: int = 20_000
    polled_interval: float = 40.0
    polled_rounds: int = 2
    # The targets whose start, list and reload the event loop must not be long busy with.
    listed: int = 10_000
    # The exporters that poll as fast as they go: for how many zones, and how long each is measured.
    alternative_zones: tuple[int, ...] = (200, 1_000)
    alternative_seconds: float = 5.0


QUICK = Plan((1_000, 10_000), 1.0, 2.0, (1, 64), (0, 500), 500, 5.0, 1, 1_000, (200,), 1.0)


def ratio(part: float, whole: float) -> float:
    """Return how many times as large as `whole` the `part` is."""
    return part / whole if whole else math.nan


@contextmanager
def daemon(platform: str, zones: int, interval: float) -> Iterator[Child]:
    """Run the exporter with one account, which polls the statistics of a number of zones."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        polled = {"discover": False, "ids": list(range(FIRST_ZONE, FIRST_ZONE + zones))}
        state = {"path": str(folder / "state.db")}
        with exporter_running(polling_zones(platform, polled, FASTEST, interval, state), folder) as running:
            get(f"{running.url}/metrics")
            yield Child(running.pid, running.url)


def wait_for_polls(child: Child, zones: int) -> None:
    """Wait for the first poll of every zone."""
    wait(lambda: sum_of(child.url, "edge_target_up") >= zones, "the first poll of every zone", step=0.5)


def scrape(plan: Plan) -> Iterator[Table]:
    """Scrape every server at every size, in turn."""
    key, ratios = ("series", "encoding", "server"), "times the exporter"
    table = Table("Scrape", (*key, "bytes", "median ms", "p99 ms", ratios))
    held = Table("Resident memory", ("series", "server", "MiB"))
    for size in plan.sizes:
        zones = size // SERIES_A_ZONE
        with platform_serving(changes=True) as platform, daemon(platform.url, zones, ONCE) as child:
            wait_for_polls(child, zones)
            with beside(child, [peer for peer in PEERS if size <= peer.most]) as servers:
                fast = {name: servers[name] for name in (EXPORTER, NGINX.name)}
                others = {name: one for name, one in servers.items() if name not in fast}
                for encoding in ENCODINGS:
                    bodies = {name: len(load.Scraper(one.url, encoding).scrape()[1]) for name, one in servers.items()}
                    # Slow peers are measured separately, because a turn with them would take seconds.
                    taken = load.in_turn(fast, encoding, plan.seconds) | load.in_turn(others, encoding, plan.seconds)
                    for name, (_, median, p99, _) in taken.items():
                        own = taken[EXPORTER].median
                        table.add(size, encoding, name, bodies[name], median, p99, ratio(median, own))
                for name, one in servers.items():
                    held.add(size, name, memory(one.pid) / MIB)
    yield from (table, held)


def calls(plan: Plan) -> Iterator[Table]:
    """Measure how many calls a second each client makes on one core, one client after another."""
    columns = ("in flight", "client", "calls/s", "CPU ms a call", "times plain httpx")
    table = Table("Platform calls on one core, models parsed", columns)
    with platform_serving(changes=True) as platform:
        os.sched_setaffinity(platform.pid, {min(os.sched_getaffinity(0))})
        for in_flight in plan.in_flight:
            turns = [
                {name: measure(name, platform.url, in_flight, CALL_SECONDS / TURNS) for name in CLIENTS}
                for _ in range(TURNS)
            ]
            middle = {name: sorted(turn[name] for turn in turns)[TURNS // 2] for name in CLIENTS}
            for name, (rate, cpu_ms) in middle.items():
                table.add(in_flight, name, rate, cpu_ms, ratio(rate, middle["httpx"][0]))
    yield table


def whole(plan: Plan) -> Iterator[Table]:
    """Measure the daemon with numbers of targets: its start, its processor time, and its scrapes while it polls."""
    columns = ("targets", "ms to first /metrics", "CPU of a core")
    spent = Table(f"The whole daemon, targets polled each {plan.repoll:g} s", columns)
    scrapes = Table("Its scrapes, gzip", ("targets", "server", "scrapes", "median ms", "p99 ms", "worst ms"))
    with platform_serving(changes=True) as platform:
        for zones in plan.targets:
            began = time.perf_counter()
            with daemon(platform.url, zones, plan.repoll) as child:
                ready = (time.perf_counter() - began) * 1e3
                wait_for_polls(child, zones)
                # It polls evenly from the second interval on.
                time.sleep(plan.repoll)
                used, since = cpu_seconds(child.pid), time.monotonic()
                time.sleep(plan.repoll)
                share = (cpu_seconds(child.pid) - used) / (time.monotonic() - since)
                spent.add(zones, ready, share)
                with beside(child) as servers:
                    seen = load.in_turn(servers, "gzip", REPOLL_TIMES * plan.repoll, PAUSE)
                for name, one in seen.items():
                    scrapes.add(zones, name, *one)
    yield from (spent, scrapes)


def polls(plan: Plan) -> Iterator[Table]:
    """Measure polls for each CPU second of the daemon: call, model, charts, durable counters, exposition.

    Then what a call costs of which the answer is only parsed, by nothing but aiohttp, from the same platform.
    """
    zones, interval = plan.polled_zones, plan.polled_interval
    columns = ("answers", "polls", "polls a CPU second", "CPU of a core", "MiB", "times a bare call")
    table = Table(f"Whole polls of {zones:,} zones, each {interval:g} s", columns)
    with platform_serving(changes=False) as platform:
        _, bare_ms = measure("bare", platform.url, BARE_IN_FLIGHT, CALL_SECONDS)
        begin = (platform.requests(), 0.0, time.monotonic())
        with daemon(platform.url, zones, interval) as child:

            def now() -> tuple[int, float, float]:
                return platform.requests(), cpu_seconds(child.pid), time.monotonic()

            def note(answers: str, since: tuple[int, float, float]) -> None:
                made, used, passed = (new - old for new, old in zip(now(), since, strict=True))
                times = ratio(used, made) * 1e3 / bare_ms
                table.add(answers, int(made), ratio(made, used), used / passed, memory(child.pid) / MIB, times)

            # This includes the start of the process, about a second of processor time.
            wait(lambda: platform.requests() >= begin[0] + zones, "the first poll of every zone")
            time.sleep(SETTLING_SECONDS)
            note("the first of each zone", begin)
            # The first round is not measured, because it also has answers of the kind before.
            for number in range(plan.polled_rounds + 1):
                write(platform.folder, number + 1)
                if number == 1:
                    mark = now()
                time.sleep(interval)
            note("today has grown", mark)
    table.add(f"a bare call, aiohttp, {BARE_IN_FLIGHT} in flight", None, 1e3 / bare_ms, None, None, 1.0)
    yield table


def pauses(plan: Plan) -> Iterator[Table]:
    """Measure the longest pauses of the event loop: at the start, while a list is applied, and in a reload."""
    columns = ("while", "longest pause ms", "processor ms in it")
    table = Table(f"Pauses of the event loop with {plan.listed:,} targets", columns)
    with platform_serving(changes=False) as platform, TemporaryDirectory() as folder:
        write_search(platform.folder, plan.listed)
        command = own("tests.bench.pauses", platform.url, plan.listed, folder)
        printed = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, check=True).stdout
    for event, (length, used) in json.loads(printed).items():
        table.add(event, length, used)
    yield table


def alternatives(plan: Plan) -> Iterator[Table]:
    """Measure exporters that poll as fast as they go, one after another: polls, then scrapes meanwhile, and memory."""
    columns = ("zones", "exporter", "series", "polls/s", "CPU µs a poll", "scrape, median ms", "MiB")
    ratios = ("times the CPU", "times the scrape", "times the memory")
    table = Table("Polling as fast as each goes, scraped with gzip meanwhile", (*columns, *ratios))
    exporters = {EXPORTER: partial(daemon, interval=SHORTEST)} | ALTERNATIVES
    with platform_serving(changes=True) as platform:
        for zones in plan.alternative_zones:
            ours: Sequence[float] = ()
            for name, serve in exporters.items():
                with serve(platform.url, zones) as child:
                    series, rate, *costs = _polling(platform, child, plan.alternative_seconds)
                ours = ours or costs
                table.add(zones, name, series, rate, *costs, *map(ratio, costs, ours))
    yield table


def _polling(platform: Platform, child: Child, seconds: float) -> tuple[int, float, float, float, float]:
    """Return an exporter's series, polls a second, microseconds of a poll, milliseconds of a scrape, and MiB."""
    scraper, series = load.Scraper(child.url, "gzip"), [0]

    def is_complete() -> bool:
        # A collectd with more than 1,024 descriptors refuses every second connection.
        with suppress(ConnectionError):
            _, body = scraper.scrape()
            text = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
            series.append(sum(not line.startswith(b"#") for line in text.splitlines()))
        return len(series) > SETTLED and series[-1] == series[-SETTLED]

    wait(is_complete, "the series of every zone", step=1.0)
    made, used, since = platform.requests(), cpu_seconds(child.pid), time.monotonic()
    time.sleep(seconds)
    made, used, passed = platform.requests() - made, cpu_seconds(child.pid) - used, time.monotonic() - since
    scraped = load.repeatedly(scraper, seconds, PAUSE)
    return series[-1], made / passed, ratio(used, made) * 1e6, scraped.median, memory(child.pid) / MIB


SECTIONS: dict[str, Callable[[Plan], Iterator[Table]]] = {
    "scrape": scrape,
    "calls": calls,
    "polls": polls,
    "daemon": whole,
    "pauses": pauses,
    "alternatives": alternatives,
}
