"""Scrapes like Prometheus: one after another on a kept connection, or many at once with wrk."""

import http.client
import random
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from tests.bench.process import Child

# A server that answers faster than this is scraped several times in its turn.
FAST = 0.05
BURST = 10
FEWEST_ROUNDS = 3
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 60e3}


@dataclass(frozen=True, slots=True)
class Latency:
    """The durations of scrapes, in milliseconds."""

    count: int
    median: float
    p99: float
    worst: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        """Summarise the durations of single scrapes."""
        ordered = sorted(seconds)
        last = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        return cls(len(ordered), statistics.median(ordered) * 1e3, last * 1e3, ordered[-1] * 1e3)


class Scraper:
    """One client with one connection."""

    def __init__(self, url: str, encoding: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        self._path = parts.path
        self._headers = {"Accept-Encoding": encoding, "Accept": "text/plain;version=0.0.4"}

    def scrape(self) -> tuple[float, bytes]:
        """Scrape once; return the seconds until the last byte, and the received body."""
        began = time.perf_counter()
        self._connection.request("GET", self._path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        seconds = time.perf_counter() - began
        if answer.status != http.client.OK:
            raise RuntimeError(f"{self._path} answered {answer.status}")
        return seconds, body


def in_turn(servers: Mapping[str, Child], encoding: str, seconds: float, pause: float = 0.0) -> dict[str, Latency]:
    """Scrape several servers in turn, repeatedly, for about a number of seconds.

    The order changes with each round: some servers are still busy after an answer, which would always slow down the
    same next server. With pauses, scrapes also coincide with the servers' own background work.
    """
    turns = [(name, Scraper(server.url, encoding)) for name, server in servers.items()]
    taken: dict[str, list[float]] = {name: [] for name in servers}
    for _, scraper in turns:
        scraper.scrape()
    until = time.monotonic() + seconds
    rounds, chance = 0, random.Random(1)  # noqa: S311 - repeatable
    while rounds < FEWEST_ROUNDS or time.monotonic() < until:
        rounds += 1
        chance.shuffle(turns)
        for name, scraper in turns:
            first, _ = scraper.scrape()
            taken[name].append(first)
            taken[name] += [scraper.scrape()[0] for _ in range(BURST - 1 if first < FAST and not pause else 0)]
            time.sleep(pause)
    return {name: Latency.of(each) for name, each in taken.items()}


def crowd(url: str, encoding: str) -> tuple[float, float, float] | None:
    """Scrape with eight clients at once; return the median and 99th percentile in milliseconds, and scrapes a second.

    None if wrk is missing or no scrape ended in time.
    """
    if shutil.which("wrk") is None:
        return None
    command = ["wrk", "-t1", "-c8", "-d5s", "--latency", "--timeout", "60s"]
    headers = ["-H", f"Accept-Encoding: {encoding}", "-H", "Accept: text/plain;version=0.0.4"]
    reported = subprocess.run([*command, *headers, url], capture_output=True, text=True, check=True).stdout
    spread = {
        share: float(value) * _UNITS[unit] for share, value, unit in re.findall(r"(\d+)%\s+([\d.]+)(\w+)", reported)
    }
    rate = re.search(r"Requests/sec:\s+([\d.]+)", reported)
    if rate is None or "99" not in spread:
        raise RuntimeError(f"wrk reported nothing of {url}:\n{reported}")
    return (spread["50"], spread["99"], float(rate[1])) if float(rate[1]) else None
