"""Makes platform calls in a separate process, with a number in flight.

The clients are the exporter's, plain httpx with the same models, and a bare one: aiohttp and `json.loads`.
"""

import asyncio
import json
import math
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from typing import Any

import aiohttp
import httpx
from prometheus_client import CollectorRegistry

from exporter.daemon.accounts import AccountObserver
from exporter.platform.api import dns
from exporter.platform.api.dns import DnsZoneStatistics
from exporter.settings.account import AccountSettings
from exporter.telemetry import Telemetry
from exporter.wiring.clients import access_of, client_of
from tests.bench.nginx_platform import FIRST_ZONE
from tests.exporter_parts import account_at

ZONES = range(FIRST_ZONE, 5000)

Call = Callable[[int], Awaitable[object]]


@asynccontextmanager
async def by_exporter(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with the exporter's own client, as the daemon creates it."""
    account = account_at(url, budget={"requests_per_second": 100_000, "max_in_flight": in_flight})
    observer = AccountObserver(Telemetry(CollectorRegistry(), "bench"), "bench", time.monotonic)
    client = client_of(access_of(AccountSettings.model_validate(account), 1), observer)
    try:
        yield lambda zone: dns.read_statistics(client.calls_until(math.inf), zone)
    finally:
        await client.aclose()


@asynccontextmanager
async def by_httpx(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with plain httpx."""
    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx.AsyncClient(base_url=url, limits=limits, headers={"AccessKey": "key"}) as client:

        async def call(zone: int) -> object:
            return DnsZoneStatistics.model_validate_json((await client.get(f"/dnszone/{zone}/statistics")).content)

        yield call


@asynccontextmanager
async def by_aiohttp(url: str, in_flight: int) -> AsyncIterator[Call]:
    """Call with plain aiohttp, without models."""
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector, headers={"AccessKey": "key"}) as session:

        async def call(zone: int) -> object:
            async with session.get(f"{url}/dnszone/{zone}/statistics") as response:
                return json.loads(await response.read())

        yield call


CLIENTS = {"exporter": by_exporter, "httpx": by_httpx, "bare": by_aiohttp}


def measure(client: str, url: str, in_flight: int, seconds: float) -> tuple[float, float]:
    """Call for a number of seconds on one core; return calls a second, and milliseconds of processor time for each."""
    core = {max(os.sched_getaffinity(0))}
    with ProcessPoolExecutor(1, get_context("spawn"), os.sched_setaffinity, (0, core)) as process:
        return process.submit(_measured, client, url, in_flight, seconds).result()


def _measured(*arguments: Any) -> tuple[float, float]:
    return asyncio.run(_calls(*arguments))


async def _calls(client: str, url: str, in_flight: int, seconds: float) -> tuple[float, float]:
    async with CLIENTS[client](url, in_flight) as call:
        await asyncio.gather(*(call(zone) for zone in ZONES[:in_flight]))
        made, began, used = 0, time.monotonic(), time.process_time()

        async def work() -> None:
            nonlocal made
            while time.monotonic() < began + seconds:
                await call(random.choice(ZONES))  # noqa: S311 - figures for a benchmark
                made += 1

        await asyncio.gather(*(work() for _ in range(in_flight)))
        passed, used = time.monotonic() - began, time.process_time() - used
    return made / passed, used / made * 1e3
