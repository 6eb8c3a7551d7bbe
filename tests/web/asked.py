"""A client of the endpoints, without a server between."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from exporter.web.app import create_app
from tests.web.view_setup import ViewSetup


@asynccontextmanager
async def asking(setup: ViewSetup, prefix: str = "/") -> AsyncIterator[httpx.AsyncClient]:
    """A client of the endpoints."""
    transport = httpx.ASGITransport(create_app(setup.view(), setup.renderer, setup.reload, route_prefix=prefix))
    async with httpx.AsyncClient(transport=transport, base_url="http://exporter:9877") as client:
        yield client
