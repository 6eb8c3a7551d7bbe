"""How calls go through a proxy, and what a transport keeps."""

import asyncio
import base64

import pytest

from exporter.platform.api import dns
from exporter.platform.errors import ProxyFault, Reset
from tests.platform.clients import KEY, client_of
from tests.platform.raw_server import Line, ending, listening, raw_server, reply, saying

GOOD = reply('{"TotalQueriesServed": 7}')


async def test_a_proxy_on_the_way_to_https_never_sees_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(saying(reply("", 403))) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{proxy.port}")
        async with client_of("https://platform.example") as kit:
            error = await kit.failure()
    said = "no connection through the proxy (platform.example: the proxy answered 403)"
    assert (type(error), str(error)) == (ProxyFault, said)
    sent = proxy.requests[0]
    assert (sent.method, sent.target, KEY in repr(sent)) == ("CONNECT", "platform.example:443", False)
    assert sent.header("Proxy-Authorization") == "Basic " + base64.b64encode(b"me:word").decode()


async def test_a_proxy_that_is_not_there_and_one_that_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening(Line.hung_up) as port:
        pass
    for proxy in (f"127.0.0.1:{port}", "proxy.invalid", "not..valid"):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        async with client_of("http://platform.example") as kit:
            error = await kit.failure()
        assert (type(error), str(error)[:49]) == (ProxyFault, "no connection through the proxy (platform.example")
    async with raw_server(ending("reset")) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        async with client_of("http://platform.example") as kit:
            assert type(await kit.failure()) is Reset


async def test_as_many_connections_as_calls_in_flight_are_open() -> None:
    gate = asyncio.Event()

    async def wait(_request: object, line: Line) -> None:
        await gate.wait()
        await line.send(GOOD)

    async with raw_server(wait) as server, client_of(server.url, max_in_flight=8) as kit:
        calls = [asyncio.create_task(dns.read_statistics(kit.calls, zone)) for zone in range(20)]
        await server.until_asked(8)
        in_flight = len(server.requests)
        gate.set()
        await asyncio.gather(*calls)
    assert (in_flight, len(server.requests), server.connections) == (8, 20, 8)


async def test_a_client_that_is_closed_before_its_first_call_opens_no_connection() -> None:
    async with raw_server(saying(GOOD)) as server, client_of(server.url) as kit:
        await kit.client.aclose()
        assert "the client has been closed" in str(await kit.failure())
    assert server.connections == 0
