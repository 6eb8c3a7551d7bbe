"""Serves series in a process of its own: `PORT exporter SERIES SECONDS`, or `PORT client FILE` for prometheus-client.

The exporter's store, renderer and web server serve simulated polls of DNS zones, each polled once in SECONDS.
"""

import asyncio
import random
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric, start_http_server
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from exporter.collectors.collector import Outcome
from exporter.collectors.dns_statistics import COLLECTOR
from exporter.exposition.exposition import Exposition
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import HEALTH, Store
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.responsive import runtime
from exporter.targets.target import Target
from exporter.telemetry import Telemetry
from exporter.web.metrics import MetricsEndpoint
from exporter.web.server import WebServer
from tests.polled import succeed

SERIES_A_ZONE = 20
FIRST_ZONE = 1001
TICK = 0.02
VALUES = {"record_type": ("A", "AAAA", "CAA", "CNAME", "HTTPS", "MX", "NS", "TXT"), "routing": ("normal", "smart")}


def publish(store: Store, target: Target, turn: int) -> None:
    """Publish a zone's poll number `turn`; all values differ from those of the poll before."""
    noise = random.Random(f"{target.id}/{turn}")  # noqa: S311 - figures for a benchmark
    made = [Family(info, tuple(_samples(info, target, noise))) for info in COLLECTOR.families]
    gauges = tuple(family for family in made if family.info.kind is not Kind.COUNTER)
    counters = tuple(family for family in made if family.info.kind is Kind.COUNTER)
    succeed(store, COLLECTOR.name, Outcome(target, gauges), counters, lifetime=900.0, duration=0.05)


def _samples(info: FamilyInfo, target: Target, noise: random.Random) -> Iterator[Sample]:
    created = 1_770_000_000.0 if info.kind is Kind.COUNTER else None
    for value in VALUES.get(info.labels[-1], ("",)):
        labels = (target.account, target.id, target.name, *filter(None, (value,)))
        yield Sample(labels, float(noise.randrange(1_000_000)), created)


async def repoll(targets: list[Target], store: Store, seconds: float) -> None:
    """Publish every zone once within `seconds`, evenly spread."""
    began, published = time.monotonic(), 0
    while True:
        await asyncio.sleep(TICK)
        due = int((time.monotonic() - began) / seconds * len(targets))
        for number in range(published, due):
            turn, place = divmod(number, len(targets))
            publish(store, targets[place], turn + 1)
        published = max(published, due)


async def serve(port: int, series: int, seconds: float) -> None:
    """Serve a filled store as the daemon does, until the process is ended."""
    runtime.share()
    telemetry = Telemetry(CollectorRegistry(), "bench")
    store = Store(time.time, time.monotonic)
    exposition = Exposition(telemetry.exposed())
    exposition.declare((*COLLECTOR.families, *HEALTH))
    renderer = Renderer(exposition, store, telemetry, time.monotonic, grown=runtime.settle)
    numbers = range(FIRST_ZONE, FIRST_ZONE + max(1, series // SERIES_A_ZONE))
    targets = [Target("main", "dns_zone", str(number), f"shop{number}.net") for number in numbers]
    for target in targets:
        publish(store, target, 0)
    await renderer.render()
    server = WebServer("127.0.0.1", port, None)
    await server.start(MetricsEndpoint(renderer, lambda: (COLLECTOR.name,), lambda _: True))
    await asyncio.gather(renderer.run(), *([repoll(targets, store, seconds)] if seconds else ()))


class Ready(Collector):
    """A collector of families that were parsed from a text once."""

    def __init__(self, text: str) -> None:
        self._families = list(text_string_to_metric_families(text))

    def collect(self) -> Iterable[Metric]:
        """Return the families."""
        return self._families


def serve_client(port: int, file: Path) -> None:
    """Serve the families of a file with prometheus-client, until the process is ended."""
    registry = CollectorRegistry()
    registry.register(Ready(file.read_text()))
    start_http_server(port, "127.0.0.1", registry)
    signal.pause()


if __name__ == "__main__":
    match sys.argv[1:]:
        case [port, "exporter", series, seconds]:
            asyncio.run(serve(int(port), int(series), float(seconds)))
        case [port, "client", file]:
            serve_client(int(port), Path(file))
