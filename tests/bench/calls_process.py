"""Makes platform calls on one core, with a number in flight: by the exporter's client, plain httpx or plain aiohttp."""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import aiohttp
import httpx
from prometheus_client import CollectorRegistry

from exporter.daemon.account_observer import AccountObserver
from exporter.platform.api import dns
from exporter.platform.api.dns import DnsZoneStatistics
from exporter.settings.model import Settings
from exporter.telemetry import Telemetry
from exporter.wiring.clients import client_of

ZONES = 5000
KEY = "bench-key"

Call = Callable[[int], Awaitable[DnsZoneStatistics]]


@asynccontextmanager
async def by_exporter(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with the exporter's own client, as the daemon creates it."""
    settings = Settings.model_validate(
        {
            "accounts": [
                {
                    "name": "bench",
                    "base_url": url,
                    "api_key": KEY,
                    "budget": {"requests_per_second": 100_000, "max_in_flight": in_flight},
                }
            ]
        }
    )
    observer = AccountObserver(Telemetry(CollectorRegistry(), "bench"), "bench", time.monotonic)
    client = client_of(settings.accounts[0], observer, 1)

    async def call(zone: int) -> DnsZoneStatistics:
        return (await dns.statistics(client, zone)).value

    try:
        yield call
    finally:
        await client.aclose()


@asynccontextmanager
async def by_httpx(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with plain httpx, with the same models."""
    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx.AsyncClient(base_url=url, limits=limits, headers={"AccessKey": KEY}) as client:

        async def call(zone: int) -> DnsZoneStatistics:
            response = await client.get(f"/dnszone/{zone}/statistics")
            return DnsZoneStatistics.model_validate_json(response.content)

        yield call


@asynccontextmanager
async def by_aiohttp(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with plain aiohttp, with the same models."""
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector, headers={"AccessKey": KEY}) as session:

        async def call(zone: int) -> DnsZoneStatistics:
            async with session.get(f"{url}/dnszone/{zone}/statistics") as response:
                return DnsZoneStatistics.model_validate_json(await response.read())

        yield call


CLIENTS = {"exporter": by_exporter, "httpx": by_httpx, "aiohttp": by_aiohttp}


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the calls that the command line asks for, and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=sorted(CLIENTS))
    parser.add_argument("url")
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--core", type=int, help="the core that it keeps to")
    given = parser.parse_args(arguments)
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    reported = asyncio.run(measure(given.client, given.url, given.in_flight, given.seconds))
    sys.stdout.write(json.dumps(reported) + "\n")


if __name__ == "__main__":
    main()
