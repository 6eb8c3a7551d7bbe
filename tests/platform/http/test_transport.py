"""How the exceptions of aiohttp are translated, and how calls go through a proxy."""

import asyncio
import base64
from typing import Any

import aiohttp
import pytest

from exporter.platform import errors
from exporter.platform.api import dns
from exporter.platform.errors import ProxyFault
from exporter.platform.http.client import fault_of
from exporter.platform.http.transport import translate
from tests.platform.clients import KEY, client_of
from tests.platform.raw_server import Line, listening, raw_server, reply, saying

GOOD = reply('{"TotalQueriesServed": 7}')
CONNECTION: Any = aiohttp.client_reqrep.ConnectionKey("h", 443, True, True, None, None, None)  # noqa: FBT003


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (
            aiohttp.ClientConnectorError(CONNECTION, TimeoutError(110, "Connect call failed")),
            errors.ConnectTimeout,
            "no connection within the time limit (h: Connection timed out)",
        ),
        (aiohttp.ClientError("s3cret"), errors.Reset, "the connection ended before the answer did (h)"),
        (aiohttp.InvalidURL("http://h/?k=s3cret"), errors.NameFault, "the host name does not resolve (h)"),
        (ValueError("s3cret"), errors.TransportError, "the call failed (h: ValueError)"),
    ],
)
def test_what_no_platform_brings_about_is_named_without_secrets(
    error: Exception, kind: type[errors.PlatformError], said: str
) -> None:
    """`faults.txt` has what a platform can bring about."""
    fault = fault_of(translate(error), "h")
    assert (type(fault), str(fault)) == (kind, said)


async def test_a_proxy_on_the_way_to_https_never_sees_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(saying(reply("", 403))) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{proxy.port}")
        async with client_of("https://platform.example") as kit:
            error = await kit.failure()
    assert (type(error), str(error)) == (ProxyFault, "the proxy refused the call (platform.example)")
    sent = proxy.requests[0]
    assert (sent.method, sent.target, KEY in repr(sent)) == ("CONNECT", "platform.example:443", False)
    assert sent.header("Proxy-Authorization") == "Basic " + base64.b64encode(b"me:word").decode()


async def test_a_proxy_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening(Line.hung_up) as port:
        pass
    monkeypatch.setenv("HTTP_PROXY", f"127.0.0.1:{port}")
    async with client_of("http://platform.example") as kit:
        error = await kit.failure()
    assert (type(error), str(error)) == (
        ProxyFault,
        "the proxy refused the call (platform.example: Connection refused)",
    )


async def test_cookies_are_not_kept() -> None:
    answer = reply('{"TotalQueriesServed": 7}', Set_Cookie="session=1; Path=/")
    async with raw_server(saying(answer)) as server, client_of(server.url) as kit:
        await dns.statistics(kit.calls, 102)
        await dns.statistics(kit.calls, 102)
    assert [sent.header("Cookie") for sent in server.requests] == [None, None]


async def test_as_many_connections_as_calls_in_flight_are_open() -> None:
    gate = asyncio.Event()

    async def wait(_request: object, line: Line) -> None:
        await gate.wait()
        await line.send(GOOD)

    async with raw_server(wait) as server, client_of(server.url, max_in_flight=8) as kit:
        calls = [asyncio.create_task(dns.statistics(kit.calls, zone)) for zone in range(20)]
        await server.until_asked(8)
        in_flight = len(server.requests)
        gate.set()
        await asyncio.gather(*calls)
    assert (in_flight, len(server.requests), server.connections) == (8, 20, 8)
