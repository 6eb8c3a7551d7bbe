"""Clients whose collaborators the test controls."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple
from unittest.mock import AsyncMock

import httpx
import pytest

from exporter.blocking import one_thread
from exporter.clock import Clocks, PlatformTime
from exporter.platform.api import dns
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Client, Observer, PollCalls
from exporter.platform.http.credential import Credential
from exporter.platform.http.proxy import connector, proxy_secrets
from exporter.platform.http.rate_limiter import RateLimiter
from tests.turned_clock import TurnedClock

KEY = "0f3c1a52-not-a-key-91d4"
NOW = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)


@dataclass
class Heard(Observer):
    """An observer that records all events."""

    attempts: list[tuple[str, str, str | None]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    retries: list[str] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Record an event."""
        self.attempts.append((operation, code, reason))
        self.seconds.append(seconds)

    def retried(self, operation: str) -> None:
        """Record an event."""
        self.retries.append(operation)

    def throttled(self, seconds: float) -> None:
        """Record an event."""
        self.waited.append(seconds)


@dataclass
class FakeClock(TurnedClock):
    """A clock that only sleeping advances; sleeping takes no real time."""

    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        """Advance by a number of seconds."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


async def settle() -> None:
    """Let every task run until it has to wait."""
    for _ in range(50):
        await asyncio.sleep(0)


class Reply(NamedTuple):
    """An answer of the platform."""

    status: int
    body: bytes | str | AsyncIterable[bytes] = b""
    headers: Mapping[str, str] = {}


def good(body: str | AsyncIterable[bytes], **headers: str) -> Reply:
    return Reply(200, body, headers)


Script = Callable[[httpx.Request], Awaitable[Reply]]


@dataclass
class Answers(httpx.AsyncBaseTransport):
    """Gives one answer after another, and then repeats the last; an answer may also be a script or an exception."""

    left: list[Reply | Script | Exception]
    sent: list[httpx.Request] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Record a request, and answer it."""
        self.sent.append(request)
        answer = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(answer, Exception):
            raise answer
        status, body, headers = answer if isinstance(answer, Reply) else await answer(request)
        return httpx.Response(status, headers=headers, content=body)


@dataclass
class Kit:
    """A client, a caller for it, and the client's parts."""

    client: Client
    calls: PollCalls
    heard: Heard
    clock: FakeClock

    async def failure(self, zone: int = 102) -> Any:
        """Return the error of a call for a zone's statistics."""
        with pytest.raises(PlatformError) as caught:
            await dns.read_statistics(self.calls, zone)
        return caught.value


@asynccontextmanager
async def client_of(
    url: str,
    *,
    scheme: str = "access_key",
    read: Callable[[], str] = lambda: KEY,
    deadline: float = 5.0,
    time_limit: float = 10.0,
    useful: float = 0.0,
    random: Callable[[], float] = lambda: 0.5,
    rate: float = 1e6,
    max_in_flight: int = 64,
    sleep: Callable[[float], Awaitable[None]] | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[Kit]:
    """Return a client of a platform at `url`; an answer to its caller is of use for `useful` seconds."""
    heard, clock = Heard(), FakeClock()
    connect = connector(url, max_in_flight, one_thread("names"), time_limit=time_limit)
    clocks = Clocks(NOW.timestamp, clock, sleep or clock.sleep)
    client = Client(
        base_url=url,
        credential=Credential(scheme, read),
        connect=connect if transport is None else AsyncMock(return_value=transport),
        rate_limiter=RateLimiter(rate, max_in_flight, clocks=clocks, random=lambda: 1.0),
        random=random,
        timeout=deadline,
        observer=heard,
        clocks=clocks,
        platform_time=PlatformTime(clocks),
        secrets=proxy_secrets(url),
    )
    try:
        yield Kit(client, client.calls_until(clock.now + useful), heard, clock)
    finally:
        await client.aclose()


@asynccontextmanager
async def answered(*answers: Reply | Script | Exception, **options: Any) -> AsyncIterator[tuple[Kit, Answers]]:
    """Return a client whose calls get these answers, without a socket, and what it sends."""
    platform = Answers(list(answers))
    async with client_of("http://platform.example", transport=platform, **options) as kit:
        yield kit, platform
