"""Makes platform calls in a process of its own, with a number in flight: `CLIENT URL IN_FLIGHT SECONDS CORE`.

The clients are the exporter's, plain httpx with the same models, and a bare one: aiohttp and `json.loads`.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import httpx
from prometheus_client import CollectorRegistry

from exporter.platform.api import dns
from exporter.platform.api.dns import DnsZoneStatistics
from exporter.polling.poll import AccountObserver
from exporter.settings.model import Settings
from exporter.telemetry import Telemetry
from exporter.wiring.clients import client_of

ZONES = 5000
KEY = "bench-key"

Call = Callable[[int], Awaitable[object]]


@asynccontextmanager
async def by_exporter(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with the exporter's own client, as the daemon creates it."""
    budget = {"requests_per_second": 100_000, "max_in_flight": in_flight}
    account = {"name": "bench", "base_url": url, "api_key": KEY, "budget": budget}
    settings = Settings.model_validate({"accounts": [account]})
    observer = AccountObserver(Telemetry(CollectorRegistry(), "bench"), "bench", time.monotonic)
    client = client_of(settings.accounts[0], observer, 1)
    try:
        yield lambda zone: dns.statistics(client.until(None), zone)
    finally:
        await client.aclose()


@asynccontextmanager
async def by_httpx(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with plain httpx."""
    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx.AsyncClient(base_url=url, limits=limits, headers={"AccessKey": KEY}) as client:

        async def call(zone: int) -> object:
            return DnsZoneStatistics.model_validate_json((await client.get(f"/dnszone/{zone}/statistics")).content)

        yield call


@asynccontextmanager
async def by_aiohttp(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with plain aiohttp, without models."""
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector, headers={"AccessKey": KEY}) as session:

        async def call(zone: int) -> object:
            async with session.get(f"{url}/dnszone/{zone}/statistics") as response:
                return json.loads(await response.read())

        yield call


CLIENTS = {"exporter": by_exporter, "httpx": by_httpx, "bare": by_aiohttp}


async def measure(client: str, url: str, in_flight: int, seconds: float) -> dict[str, float]:
    """Call for a number of seconds; return calls a second, and milliseconds of processor time for each call."""
    async with CLIENTS[client](url, in_flight) as call:
        await asyncio.gather(*(call(zone) for zone in range(1, in_flight + 1)))
        made = 0
        until = time.monotonic() + seconds

        async def work() -> None:
            nonlocal made
            while time.monotonic() < until:
                await call(random.randrange(1, ZONES))  # noqa: S311 - figures for a benchmark
                made += 1

        began, used = time.monotonic(), time.process_time()
        await asyncio.gather(*(work() for _ in range(in_flight)))
        passed, used = time.monotonic() - began, time.process_time() - used
    return {"rate": made / passed, "cpu_ms": used / made * 1e3}


if __name__ == "__main__":
    client, url, in_flight, seconds, core = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    sys.stdout.write(json.dumps(asyncio.run(measure(client, url, int(in_flight), float(seconds)))) + "\n")
