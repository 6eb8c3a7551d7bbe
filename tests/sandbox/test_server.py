"""The sandbox's server: what no application without a socket shows."""

import signal

import httpx
import pytest

from exporter.sandbox.keys import API_KEY
from exporter.sandbox.sandbox_server import SandboxServer, create_app
from exporter.sandbox.world import World

ZONE = "/dnszone/101/statistics"


async def test_a_platform_comes_back_at_its_port_with_what_it_knew_and_leaves_signals_alone(world: World) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    app = create_app(world)
    first = SandboxServer(app)
    await first.start()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    world.dns.rename_zone(101, "kept.example")
    await first.stop()
    await first.stop()
    async with httpx.AsyncClient(base_url=first.url, headers={"AccessKey": API_KEY}) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(ZONE)
        second = SandboxServer(app, port=first.port)
        await second.start()
        assert second.url == first.url
        found = (await client.get("/search", params={"search": "kept"})).json()["SearchResults"]
        assert [one["Id"] for one in found] == [101]
        await second.stop()
