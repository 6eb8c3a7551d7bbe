"""The measurements: what each section starts, and the tables that it returns."""

import json
import math
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import load
from tests.bench.calls import CLIENTS
from tests.bench.peers import EXPORTER, NGINX, PEERS, beside, exporter
from tests.bench.platform import platform_serving, write
from tests.bench.process import MIB, Child, cpu_seconds, get, memory, own, polling_zones, wait
from tests.bench.report import Table
from tests.bench.servers import SERIES_A_ZONE
from tests.counters.process import exporter_running

ENCODINGS = ("gzip", "identity")
PAUSE = 0.02
TURNS = 3
RATE, FASTEST = 500, 100_000
# Within so many seconds what was polled last is counted, rendered and compressed.
SETTLING_SECONDS = 3.0
BARE_IN_FLIGHT = 32
CALL_SECONDS = 5.0
MOST_REPOLLED = 500_000
# For so many times the interval the exporter is scraped while it polls.
REPOLL_TIMES = 4 / 3


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes, in series, targets and zones, and the durations of a run in seconds."""

    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 500_000, 1_000_000)
    # How long the servers of a size are scraped in turn, for each encoding; and the most series for many clients.
    seconds: float = 12.0
    most_for_crowds: int = 100_000
    # Within so long every target is polled anew, while the exporter is scraped.
    repoll: float = 15.0
    in_flight: tuple[int, ...] = (1, 8, 64, 256)
    targets: tuple[int, ...] = (0, 1_000, 5_000)
    # Whole polls: how many intervals are measured, for each kind of answers.
    polled_zones: int = 20_000
    polled_interval: float = 40.0
    polled_rounds: int = 2


QUICK = Plan((1_000, 10_000), 1.0, 1_000, 2.0, (1, 64), (0, 500), 500, 5.0, 1)


def ratio(part: float, whole: float) -> float:
    """Return how many times as large as `whole` the `part` is."""
    return part / whole if whole else math.nan


def resident(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    return memory(pid)[0] / MIB


def scrape(plan: Plan) -> Iterator[Table]:
    """Scrape every server at every size, in turn; then the smaller ones by many clients at once."""
    key, compared = ("series", "encoding", "server"), "exporter is faster by"
    table = Table("Scrape", (*key, "bytes", "median ms", "p99 ms", "times nginx", compared))
    crowds = Table(
        "Eight scrapers at once (wrk)", (*key, "p50 ms", "p99 ms", "scrapes/s", "times nginx's p50", compared)
    )
    held = Table("Resident memory", ("series", "server", "MiB"))
    for size in plan.sizes:
        with exporter(size) as child, beside(child, [peer for peer in PEERS if size <= peer.most]) as servers:
            for encoding in ENCODINGS:
                bodies = {name: len(load.Scraper(one.url, encoding).scrape()[1]) for name, one in servers.items()}
                taken = load.in_turn(servers, encoding, plan.seconds)
                own_median, nginx = taken[EXPORTER].median, taken.get(NGINX.name)
                for name, seen in taken.items():
                    times = ratio(seen.median, nginx.median) if nginx else None
                    cells = (bodies[name], seen.median, seen.p99, times, ratio(seen.median, own_median))
                    table.add(size, encoding, name, *cells)
                if size > plan.most_for_crowds:
                    continue
                at_once = {name: load.crowd(one.url, encoding) for name, one in servers.items()}
                subject, ready = at_once[EXPORTER], at_once.get(NGINX.name)
                for name, crowd in at_once.items():
                    bases = (ready, subject) if crowd else (None, None)
                    times_of = [ratio(crowd[0], base[0]) if crowd and base else None for base in bases]
                    crowds.add(size, encoding, name, *(crowd or (None, None, 0.0)), *times_of)
            for name, one in servers.items():
                held.add(size, name, resident(one.pid))
    yield from (table, crowds, held)


def repoll(plan: Plan) -> Iterator[Table]:
    """Scrape the exporter while every target is polled again, and an idle nginx for comparison."""
    columns = ("series", "encoding", "server", "scrapes", "median ms", "p99 ms", "worst ms")
    table = Table(f"Scrape while every target of the exporter is polled anew in {plan.repoll:g} s", columns)
    for size in (size for size in plan.sizes if size <= MOST_REPOLLED):
        with exporter(size, plan.repoll) as child, beside(child) as servers:
            for encoding in ENCODINGS:
                for name, seen in load.in_turn(servers, encoding, REPOLL_TIMES * plan.repoll, PAUSE).items():
                    table.add(size, encoding, name, seen.count, seen.median, seen.p99, seen.worst)
    yield table


def calls(plan: Plan) -> Iterator[Table]:
    """Measure how many calls a second each client makes on one core, one client after another."""
    columns = ("in flight", "client", "calls/s", "CPU ms a call", "times plain httpx")
    table = Table("Platform calls on one core, models parsed", columns)
    with platform_serving(changes=True) as platform:
        os.sched_setaffinity(platform.child.pid, {min(os.sched_getaffinity(0))})
        for in_flight in plan.in_flight:
            seen: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
            for _ in range(TURNS):
                for name, turns in seen.items():
                    turns.append(_call(name, platform.url, in_flight, CALL_SECONDS / TURNS))
            middle = {name: sorted(turns, key=lambda turn: turn["rate"])[TURNS // 2] for name, turns in seen.items()}
            for name, one in middle.items():
                times = ratio(one["rate"], middle["httpx"]["rate"])
                table.add(in_flight, name, one["rate"], one["cpu_ms"], times)
    yield table


def _call(client: str, url: str, in_flight: int, seconds: float) -> dict[str, float]:
    command = own("tests.bench.calls", client, url, in_flight, seconds, max(os.sched_getaffinity(0)))
    reported: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return reported


@contextmanager
def daemon(platform: str, zones: int, interval: float, rate: float = RATE) -> Iterator[Child]:
    """Run the exporter with one account, which polls the statistics of a number of zones."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        polled = {"discover": False, "ids": list(range(1, zones + 1))}
        others = {name: {"enabled": False} for name in ("dns_record_scans", "discovery")}
        collectors = {"dns_statistics": {"interval": f"{interval:g}s"}, **others}
        state = {"path": str(folder / "state.db")}
        with exporter_running(polling_zones(platform, polled, rate, collectors, state), folder) as running:
            child = Child(running.pid, f"{running.url}/metrics")
            get(child.url)
            yield child


def whole(plan: Plan) -> Iterator[Table]:
    """Measure the daemon with numbers of targets: its start, its processor time and memory, and its scrapes."""
    columns = ("targets", "ms to first /metrics", "CPU of a core", "MiB", "bytes a series")
    held = Table(f"The whole daemon, targets polled each {plan.repoll:g} s", columns)
    scrapes = Table("Its scrapes, gzip", ("targets", "server", "scrapes", "median ms", "p99 ms", "worst ms"))
    base = 0.0
    with platform_serving(changes=True) as platform:
        for zones in plan.targets:
            began = time.perf_counter()
            with daemon(platform.url, zones, plan.repoll) as child:
                ready = (time.perf_counter() - began) * 1e3
                wait(lambda: up(child) >= zones, "the first poll of every zone", step=0.5)  # noqa: B023 - called here
                # It polls evenly from the second interval on.
                time.sleep(plan.repoll)
                used, since = cpu_seconds(child.pid), time.monotonic()
                time.sleep(plan.repoll)
                share = (cpu_seconds(child.pid) - used) / (time.monotonic() - since)
                now = resident(child.pid)
                base = base or now
                held.add(zones, ready, share, now, (now - base) * MIB / zones / SERIES_A_ZONE if zones else None)
                with beside(child) as servers:
                    seen = load.in_turn(servers, "gzip", REPOLL_TIMES * plan.repoll, PAUSE)
                for name, one in seen.items():
                    scrapes.add(zones, name, one.count, one.median, one.p99, one.worst)
    yield from (held, scrapes)


def up(child: Child) -> int:
    """Return how many targets have been polled."""
    return get(child.url).count(b"\nedge_target_up{")


def polls(plan: Plan) -> Iterator[Table]:
    """Measure polls for each CPU second of the daemon: call, model, charts, durable counters, exposition.

    Then what a call costs of which the answer is only parsed, by nothing but aiohttp, from the same platform.
    """
    zones, interval = plan.polled_zones, plan.polled_interval
    columns = ("answers", "polls", "polls a CPU second", "CPU of a core", "MiB", "times a bare call")
    table = Table(f"Whole polls of {zones:,} zones, each {interval:g} s", columns)
    measured: list[tuple[str, int, float, float, float]] = []
    with platform_serving(changes=False) as platform:
        began = time.monotonic()
        with daemon(platform.url, zones, interval, FASTEST) as child:

            def now() -> tuple[int, float, float]:
                return platform.requests(), cpu_seconds(child.pid), time.monotonic()

            def note(answers: str, since: tuple[int, float, float]) -> None:
                requests, used, passed = (new - old for new, old in zip(now(), since, strict=True))
                measured.append((answers, int(requests), used, used / passed, resident(child.pid)))

            # The start of the process is in it, about a second of processor time.
            wait(lambda: platform.requests() >= zones, "the first poll of every zone")
            time.sleep(SETTLING_SECONDS)
            note("the first of each zone", (0, 0.0, began))
            grown = 0
            for answers, grows in (("today has grown", True), ("byte for byte the same", False)):
                # The first round of each kind is not measured: answers of the kind before come in it.
                for number in range(plan.polled_rounds + 1):
                    grown += grows
                    write(platform.folder, grown)
                    if number == 1:
                        mark = now()
                    time.sleep(interval)
                note(answers, mark)
        bare = _call("bare", platform.url, BARE_IN_FLIGHT, CALL_SECONDS)["cpu_ms"] / 1e3
    for answers, count, used, share, held in measured:
        table.add(answers, count, ratio(count, used), share, held, ratio(used, count) / bare)
    table.add(f"a bare call, aiohttp, {BARE_IN_FLIGHT} in flight", None, 1 / bare, None, None, 1.0)
    yield table


SECTIONS: dict[str, Callable[[Plan], Iterator[Table]]] = {
    "scrape": scrape,
    "repoll": repoll,
    "calls": calls,
    "polls": polls,
    "daemon": whole,
}
# The platform of these is an nginx.
ON_NGINX = {"calls", "polls", "daemon"}
