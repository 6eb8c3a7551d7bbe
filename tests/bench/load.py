"""Scrapes like Prometheus: one after another on a kept connection."""

import http.client
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.bench.measured_process import Child

# A server that answers faster than `FAST` seconds is scraped `BURST` times in its turn, on the same connection.
FAST = 0.05
BURST = 10
FEWEST_ROUNDS = 3


class Latency(NamedTuple):
    """The durations of scrapes, in milliseconds."""

    scrapes: int
    median: float
    p99: float
    worst: float


def latency(seconds: Sequence[float]) -> Latency:
    """Summarise the durations of single scrapes."""
    ordered = sorted(one * 1e3 for one in seconds)
    return Latency(len(ordered), statistics.median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1])


class Scraper:
    """One client of `/metrics` with one connection."""

    def __init__(self, url: str, encoding: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)
        self._headers = {"Accept-Encoding": encoding, "Accept": "text/plain;version=0.0.4"}

    def scrape(self) -> tuple[float, bytes]:
        """Scrape once; return the seconds until the last byte, and the received body."""
        began = time.perf_counter()
        self._connection.request("GET", "/metrics", headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        seconds = time.perf_counter() - began
        if answer.status != http.client.OK:
            raise RuntimeError(f"a scrape was answered with {answer.status}")
        return seconds, body

    def close(self) -> None:
        """Close its connection."""
        self._connection.close()


def in_turn(servers: Mapping[str, Child], encoding: str, seconds: float, pause: float = 0.0) -> dict[str, Latency]:
    """Scrape several servers in turn, repeatedly, for about a number of seconds.

    Each turn has a new connection: some take twice as long as others to the same server for as long as they last,
    because the system runs both ends on one core. The first scrape of a connection, which includes its beginning,
    counts only for a slow server. The order changes with each round: some servers are still busy after an answer,
    which would always slow down the same next server. With pauses, scrapes also coincide with the servers' own
    background work.
    """
    taken: dict[str, list[float]] = {name: [] for name in servers}
    until = time.monotonic() + seconds
    rounds, order, chance = 0, list(servers), random.Random(1)  # noqa: S311 - repeatable
    while rounds < FEWEST_ROUNDS or time.monotonic() < until:
        rounds += 1
        chance.shuffle(order)
        for name in order:
            with closing(Scraper(servers[name].url, encoding)) as scraper:
                first, _ = scraper.scrape()
                if first >= FAST:
                    taken[name].append(first)
                    continue
                for _ in range(BURST):
                    time.sleep(pause)
                    taken[name].append(scraper.scrape()[0])
    return {name: latency(each) for name, each in taken.items()}


def repeatedly(scraper: Scraper, seconds: float, pause: float) -> Latency:
    """Scrape one server for a number of seconds, with pauses."""
    taken, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        taken.append(scraper.scrape()[0])
        time.sleep(pause)
    return latency(taken)
