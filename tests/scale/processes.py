"""The sandbox and the exporters of a simulation, each in a separate process, and their resource use."""

import gzip
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from exporter.collectors.catalogue import CATALOGUE
from exporter.sandbox import keys
from exporter.sandbox.dns import FIRST_ZONE_ID
from tests.ports import free_port

TICKS = os.sysconf("SC_CLK_TCK")
START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Scrape:
    """One answer of `/metrics`."""

    seconds: float
    wire_bytes: int
    plain_bytes: int


@dataclass(frozen=True, slots=True)
class Process:
    """A process that serves HTTP."""

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """Return its used processor time."""
        return _ticks(self.pid, 2) / TICKS

    def memory(self) -> tuple[int, int]:
        """Return its memory in bytes, and the highest value so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        now, peak = (re.search(rf"{name}:\s+(\d+) kB", status) for name in ("VmRSS", "VmHWM"))
        if now is None or peak is None:
            raise RuntimeError(f"process {self.pid} is gone")
        return int(now[1]) * 1024, int(peak[1]) * 1024

    def get(self, path: str, *, compressed: bool = False) -> tuple[float, bytes]:
        """Return the seconds until the end of an answer, and the received body.

        Raises:
            OSError: it does not answer.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            began = time.perf_counter()
            connection.request("GET", path, headers={"Accept-Encoding": "gzip"} if compressed else {})
            answer = connection.getresponse()
            body = answer.read()
            took = time.perf_counter() - began
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise OSError(f"{path}: {answer.status}")
        return took, body

    def scrape(self, *, compressed: bool) -> Scrape:
        """Scrape it once, as Prometheus does."""
        seconds, body = self.get("/metrics", compressed=compressed)
        plain = len(gzip.decompress(body)) if compressed else len(body)
        return Scrape(seconds, len(body), plain)

    def sum_of(self, family: str, **labels: str) -> float:
        """Return the sum of a family's samples with these labels."""
        _, body = self.get(f"/metrics?name[]={family}")
        marks = [f'{name}="{value}"' for name, value in labels.items()]
        lines = (line for line in body.decode().splitlines() if line.startswith((family + "{", family + " ")))
        return sum(float(line.rpartition(" ")[2]) for line in lines if all(mark in line for mark in marks))


def tree_cpu_seconds(pid: int) -> float:
    """Return the processor time of a process and its children, including ended ones."""
    return (_ticks(pid, 4) + sum(_ticks(child, 2) for child in _children(pid))) / TICKS


def tree_memory(pid: int) -> int:
    """Return the memory of a process and its children in bytes; shared memory is counted once."""
    held = (Path(f"/proc/{one}/smaps_rollup").read_text() for one in (pid, *_children(pid)))
    return sum(1024 * int(text.partition("\nPss:")[2].split()[0]) for text in held)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _ticks(pid: int, counts: int) -> int:
    """Return the sum of a process's times: in user mode, in the kernel, and both for its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 11 + counts]))


@contextmanager
def _started(arguments: Sequence[str], port: int, probe: str) -> Iterator[Process]:
    child = subprocess.Popen([sys.executable, "-m", "exporter", *arguments], stdout=subprocess.DEVNULL)
    process = Process(child.pid, port)
    try:
        _await(process, child, probe)
        yield process
    finally:
        child.terminate()
        child.wait(timeout=30)


def _await(process: Process, child: subprocess.Popen[bytes], probe: str) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            process.get(probe)
        except OSError:
            if child.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


@contextmanager
def sandbox(zones: int) -> Iterator[Process]:
    """Run the local platform with a number of zones, and little else."""
    port = free_port()
    arguments = ["sandbox", "--port", str(port), "--zones", str(zones), "--scripts", "0", "--shield-zones", "0"]
    with _started(arguments, port, "/openapi.json") as process:
        yield process


@contextmanager
def exporters(
    folder: Path, platform: Process, zones: int, total: int, interval: float, *, database: str = ""
) -> Iterator[list[Process]]:
    """Run all shards of a total; they only poll the statistics of every zone.

    Their counters are in a file each, or in a PostgreSQL if its address is given.

    Search ends at 10,000 results, on the sandbox as on the platform: the ids of more zones come from a file.
    """
    ids = folder / "ids"
    ids.write_text("".join(f"{zone}\n" for zone in range(FIRST_ZONE_ID, FIRST_ZONE_ID + zones)))
    collectors: dict[str, dict[str, object]] = {collector.section: {"enabled": False} for collector in CATALOGUE}
    collectors |= {"discovery": {"interval": "600s"}, "dns_statistics": {"interval": f"{interval}s"}}
    account = {
        "name": "main",
        "base_url": f"http://127.0.0.1:{platform.port}",
        "api_key": keys.API_KEY,
        "budget": {"requests_per_second": 10_000, "max_in_flight": 64},
        "dns_zones": {"ids_file": str(ids)},
        "shield_zones": {"discover": False},
    }
    with ExitStack() as stack:
        processes = []
        for index in range(total):
            port = free_port()
            config = folder / f"{total}-{index}.json"
            reported = {
                "accounts": [account],
                "collectors": collectors,
                "state": {"url": database, "installation": f"of-{total}"}
                if database
                else {"path": str(folder / f"{total}-{index}.db")},
                "web": {"listen": f"127.0.0.1:{port}"},
                "shard": {"index": index, "total": total},
                "log": {"level": "warning"},
            }
            config.write_text(json.dumps(reported))
            processes.append(stack.enter_context(_started(["run", "--config", str(config)], port, "/-/healthy")))
        yield processes
