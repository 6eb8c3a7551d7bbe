"""Runs the exporter's store, renderer and web server in a separate process, with simulated polls."""

import argparse
import asyncio
import gc
import json
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from exporter.collectors.dns_statistics import COLLECTOR
from exporter.exposition.exposition import Exposition
from exporter.exposition.renderer import Renderer
from exporter.exposition.status_board import StatusBoard
from exporter.exposition.store import Store
from exporter.responsive import runtime
from exporter.telemetry import Telemetry
from exporter.web.metrics import MetricsEndpoint
from exporter.web.server import WebServer
from tests.bench.feed import FAMILIES, Feed, publish

TICK = 0.02


@asynccontextmanager
async def serving(feed: Feed, port: int = 0) -> AsyncIterator[tuple[WebServer, Store, Renderer]]:
    """Serve a filled store."""
    telemetry = Telemetry(CollectorRegistry(), "bench")
    store = Store(StatusBoard(time.time), time.monotonic)
    exposition = Exposition(telemetry.exposed())
    exposition.declare(FAMILIES)
    renderer = Renderer(exposition, store, telemetry, time.monotonic, grown=runtime.settle)
    feed.fill(store)
    await renderer.render()
    printing = asyncio.create_task(renderer.run())
    server = WebServer("127.0.0.1", port, None)
    server.bind()
    endpoint = MetricsEndpoint(renderer, lambda: (COLLECTOR.name,), lambda _: True)
    await server.start(endpoint)
    try:
        yield server, store, renderer
    finally:
        printing.cancel()
        await asyncio.gather(printing, return_exceptions=True)
        await server.stop()
        renderer.close()


async def repoll(feed: Feed, store: Store, seconds: float) -> None:
    """Publish every zone once within `seconds`, evenly spread."""
    targets = list(feed.targets())
    began, published = time.monotonic(), 0
    while True:
        await asyncio.sleep(TICK)
        due = int((time.monotonic() - began) / seconds * len(targets))
        while published < due:
            turn, place = divmod(published, len(targets))
            publish(store, targets[place], turn + 1)
            published += 1


class Lag:
    """Measures how much later than requested the event loop wakes a sleeping task."""

    def __init__(self) -> None:
        self._late: list[float] = []

    async def watch(self) -> None:
        """Record the lag repeatedly, until cancelled."""
        while True:
            asked = time.monotonic()
            await asyncio.sleep(0.005)
            self._late.append(time.monotonic() - asked - 0.005)

    def summary(self) -> dict[str, float]:
        """Return the median, the 99th percentile and the maximum, in milliseconds."""
        late = sorted(self._late) or [0.0]
        return {
            "lag_p50_ms": late[len(late) // 2] * 1e3,
            "lag_p99_ms": late[int(len(late) * 0.99)] * 1e3,
            "lag_max_ms": late[-1] * 1e3,
        }


async def serve(series: int, seconds: float) -> None:
    """Serve as the daemon does until SIGTERM or SIGINT, then print the lag of the event loop."""
    runtime.share()
    feed, lag, ended = Feed(series), Lag(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with serving(feed) as (server, store, renderer):
        tasks = [asyncio.create_task(lag.watch())]
        if seconds:
            tasks.append(asyncio.create_task(repoll(feed, store, seconds)))
        _say({"url": f"{server.url}/metrics"})
        await ended.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        _say({**lag.summary(), "series": renderer.current.series, "collections": gc.get_stats()[2]["collections"]})


def _say(facts: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve with the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, required=True)
    parser.add_argument("--repoll", type=float, default=0.0, help="seconds in which every target is polled once")
    given = parser.parse_args(arguments)
    asyncio.run(serve(given.series, given.repoll))


if __name__ == "__main__":
    main()
