"""Fixtures: a world whose clock only moves by `advance`, and clients of it."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from exporter.sandbox.keys import API_KEY
from exporter.sandbox.sandbox_server import create_app
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock
from tests.exporter_parts import served

NOON = 1_770_379_200.0  # 2026-02-06T12:00:00Z, a Friday


@pytest.fixture
def clock() -> WorldClock:
    return WorldClock(NOON, speed=0.0)


@pytest.fixture
def world(clock: WorldClock) -> Iterator[World]:
    made = World(seed=1, clock=clock)
    yield made
    made.close()


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a socket, with the account owner's key."""
    transport = httpx.ASGITransport(create_app(world))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox", headers={"AccessKey": API_KEY}) as it:
        yield it


@pytest.fixture
async def sandbox_url(world: World) -> AsyncIterator[str]:
    """The address of the sandbox on a free port."""
    async with served(create_app(world)) as url:
        yield url
