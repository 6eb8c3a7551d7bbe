"""Measures the whole daemon, started by its command, on a platform that answers at once."""

import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import load
from tests.bench.child import Child, own, started
from tests.bench.feed import SERIES_A_ZONE
from tests.bench.peers import EXPORTER, control
from tests.bench.plan import Plan
from tests.bench.report import Report, Table, growth
from tests.ports import free_port

PATIENCE = 180.0
RATE = 500
PAUSE = 0.02


@contextmanager
def daemon(platform: str, zones: int, interval: float, rate: float = RATE) -> Iterator[Child]:
    """Run the exporter with one account, which polls the statistics of a number of zones."""
    with TemporaryDirectory() as folder:
        address = f"127.0.0.1:{free_port()}"
        settings = {
            "accounts": [
                {
                    "name": "main",
                    "base_url": platform,
                    "api_key": "bench-key",
                    "budget": {"requests_per_second": rate, "max_in_flight": 64},
                    "dns_zones": {"discover": False, "ids": list(range(1, zones + 1))},
                    "scripts": {"discover": False},
                    "shield_zones": {"discover": False},
                }
            ],
            "collectors": {
                "dns_statistics": {"interval": f"{interval:g}s"},
                "dns_record_scans": {"enabled": False},
                "discovery": {"enabled": False},
            },
            "web": {"listen": address},
            "state": {"path": str(Path(folder) / "state.db")},
            "log": {"level": "error"},
        }
        file = Path(folder) / "config.yaml"
        file.write_text(json.dumps(settings))
        command = [sys.executable, "-m", "exporter", "run", "--config", str(file)]
        with started(command, url=f"http://{address}/metrics", quiet=False) as child:
            yield child


def await_polls(url: str, zones: int) -> None:
    """Wait until every zone has been polled."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        _, body = load.Scraper(url, "identity").scrape()
        if body.count(b"\nedge_target_up{") >= zones:
            return
        time.sleep(0.5)
    raise RuntimeError(f"not every one of {zones} zones was polled within {PATIENCE:g} s")


def measure_memory(plan: Plan, report: Report) -> None:
    """Measure resident memory without and with many polled and scraped series, and the duration of these scrapes."""
    memory = Table("The whole daemon: resident memory", ("series", "MiB", "bytes a series", "CPU of a core"))
    columns = ("series", "server", "scrapes", "median ms", "p99 ms", "worst ms")
    scrapes = Table(f"The whole daemon: gzip scrape while every target is polled each {plan.repoll:g} s", columns)
    with started(own("tests.bench.platform_process")) as platform:
        base = 0.0
        for series in (0, plan.daemon_series // 10, plan.daemon_series):
            zones = series // SERIES_A_ZONE
            with daemon(platform.url, zones, plan.repoll) as child:
                await_polls(child.url, zones)
                with control(child.url) as beside:
                    urls = {name: server.url for name, server in {EXPORTER: child, **beside}.items()}
                    # Polls come evenly from the second interval on.
                    time.sleep(plan.repoll if series else 0.0)
                    used, began = child.cpu(), time.monotonic()
                    seen = load.paced(urls, "gzip", plan.repoll_seconds, PAUSE)
                    share = (child.cpu() - used) / (time.monotonic() - began)
                mebibytes = child.rss()
            base = base or mebibytes
            memory.add(series, mebibytes, (mebibytes - base) * 2**20 / series if series else None, share)
            for name, latency in seen.items():
                scrapes.add(series, name, latency.count, latency.median, latency.p99, latency.worst)
    report.add(memory)
    report.add(scrapes)


def measure_start(plan: Plan, report: Report) -> None:
    """Measure the time from the start of the process to its first answer at /metrics."""
    table = Table("From the start of the process to the first /metrics", ("targets", "median ms", "worst ms"))
    with started(own("tests.bench.platform_process")) as platform:
        for zones in (1, 1000):
            taken: list[float] = []
            for _ in range(plan.starts):
                began = time.perf_counter()
                with daemon(platform.url, zones, 300.0):
                    taken.append((time.perf_counter() - began) * 1e3)
            table.add(zones, statistics.median(taken), max(taken))
    report.add(table)


def measure_idle(plan: Plan, report: Report) -> None:
    """Measure the processor time of a daemon that only polls."""
    table = Table(f"CPU at idle, targets polled each {plan.idle:g} s", ("targets", "CPU of a core", "MiB"))
    shares: list[float] = []
    with started(own("tests.bench.platform_process")) as platform:
        for zones in plan.idle_targets:
            with daemon(platform.url, zones, plan.idle) as child:
                await_polls(child.url, zones)
                # Polls come evenly from the second interval on.
                time.sleep(plan.idle)
                used = child.cpu()
                time.sleep(plan.idle_seconds)
                shares.append((child.cpu() - used) / plan.idle_seconds)
                table.add(zones, shares[-1], child.rss())
    report.add(table)
    if len(shares) > 1 and min(shares) > 0:
        growing = Table("Growth of CPU at idle: the power of the number of targets", ("power",))
        growing.add(growth(plan.idle_targets, shares))
        report.add(growing)
