"""Scrapes like Prometheus: one after another on a kept connection."""

import http.client
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.bench.measured_process import Child

# A server that answers faster than this is scraped several times in its turn.
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
    return {name: latency(each) for name, each in taken.items()}


def repeatedly(scraper: Scraper, seconds: float, pause: float) -> Latency:
    """Scrape one server for a number of seconds, with pauses."""
    taken, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        taken.append(scraper.scrape()[0])
        time.sleep(pause)
    return latency(taken)
