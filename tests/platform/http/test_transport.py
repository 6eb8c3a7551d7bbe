"""How the exceptions of httpx, aiohttp and the sockets are translated, and how calls go through a proxy."""

import asyncio
import base64
import inspect
import socket
import ssl
from typing import Any
from unittest.mock import Mock

import aiohttp
import httpx
import pytest
from aiohttp import client_exceptions, http_exceptions
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from exporter.blocking import one_thread
from exporter.platform import errors
from exporter.platform.api import dns
from exporter.platform.errors import ProxyFault
from exporter.platform.http.aiohttp_transport import CAUGHT, translate
from exporter.platform.http.transport import connector, fault_of
from tests.platform.clients import KEY, client_of
from tests.platform.raw_server import Line, listening, raw_server, reply, saying

GOOD = reply('{"TotalQueriesServed": 7}')
CONNECTION: Any = aiohttp.client_reqrep.ConnectionKey("h", 443, True, True, None, None, None)  # noqa: FBT003
REQUEST = aiohttp.RequestInfo(
    URL("http://h/?k=s3cret"), "GET", CIMultiDictProxy(CIMultiDict(AccessKey="s3cret")), URL()
)
REFUSED = ConnectionRefusedError(111, "Connect call failed")


ARGUMENTS: dict[type[BaseException], tuple[object, ...]] = {
    aiohttp.ClientConnectorCertificateError: (CONNECTION, ssl.SSLCertVerificationError("no")),
    client_exceptions.UnixClientConnectorError: ("/socket", CONNECTION, REFUSED),
    aiohttp.ServerFingerprintMismatch: (b"a", b"b", "h", 443),
    aiohttp.ClientConnectorError: (CONNECTION, REFUSED),
    aiohttp.ClientResponseError: (REQUEST, ()),
    http_exceptions.BadHttpMessage: ("m",),
    http_exceptions.HttpProcessingError: (),
    httpx.HTTPStatusError: ("m",),
    httpx.StreamConsumed: (),
    httpx.StreamClosed: (),
    httpx.ResponseNotRead: (),
    httpx.RequestNotRead: (),
}


def constructed(kind: type[BaseException]) -> BaseException:
    """Return an exception of a class, with the arguments that its constructor needs."""
    named = {"request": None, "response": None} if kind is httpx.HTTPStatusError else {}
    return kind(*next((made for base, made in ARGUMENTS.items() if issubclass(kind, base)), ("m",)), **named)


def exceptions_of(module: object) -> list[type[BaseException]]:
    """Return the exceptions that a module of these libraries defines."""
    found = inspect.getmembers(module, lambda kind: inspect.isclass(kind) and issubclass(kind, Exception))
    return [kind for _, kind in found if kind.__module__.startswith(("aiohttp", "httpx"))]


# Of web sockets, which are not used.
NEVER_RAISED = {client_exceptions.WSMessageTypeError}
RAISED = [
    *(kind for kind in exceptions_of(client_exceptions) if kind not in NEVER_RAISED),
    *exceptions_of(http_exceptions),
    *(OSError, ConnectionResetError, TimeoutError, ssl.SSLError, socket.gaierror, UnicodeError, ValueError),
]


@pytest.mark.parametrize("kind", RAISED, ids=lambda kind: kind.__name__)
def test_every_exception_of_aiohttp_and_the_sockets_is_caught_and_named_without_secrets(
    kind: type[BaseException],
) -> None:
    """Which error each is, `faults.txt` has of those that a platform can bring about."""
    fault = fault_of(translate(constructed(kind)), "platform.example")
    assert ("platform.example" in str(fault), "s3cret" in str(fault)) == (True, False)
    # aiohttp wraps what its parser raises.
    assert issubclass(kind, CAUGHT) or kind.__module__ == http_exceptions.__name__


def test_a_connection_that_the_system_gives_up_is_a_connect_timeout() -> None:
    error = aiohttp.ClientConnectorError(CONNECTION, TimeoutError(110, "Connect call failed"))
    fault = fault_of(translate(error), "h")
    assert (type(fault), str(fault)) == (errors.ConnectTimeout, "no connection within the time limit (h)")


async def test_every_exception_of_httpx_is_an_error_without_secrets() -> None:
    kinds = [kind for kind in exceptions_of(httpx) if kind is not httpx.CookieConflict]
    for kind in kinds:
        transport = httpx.MockTransport(Mock(side_effect=constructed(kind)))
        async with client_of("http://platform.example", transport=transport) as kit:
            assert KEY not in str(await kit.failure()), kind


async def test_a_call_goes_through_its_proxy() -> None:
    async with raw_server(saying(GOOD)) as proxy:
        address = f"http://me:pa%3Ass@127.0.0.1:{proxy.port}"
        async with client_of("http://platform.example", proxy=address) as kit:
            await dns.statistics(kit.calls, 102)
            await dns.statistics(kit.calls, 103)
    sent = proxy.requests[0]
    assert (sent.method, sent.target, sent.header("Host"), sent.header("AccessKey")) == (
        "GET",
        "http://platform.example/dnszone/102/statistics",
        "platform.example",
        KEY,
    )
    credentials = "Basic " + base64.b64encode(b"me:pa:ss").decode()
    assert [one.header("Proxy-Authorization") for one in proxy.requests] == [credentials, credentials]
    assert [one.header("Authorization") for one in proxy.requests] == [None, None]
    assert proxy.connections == 1


async def test_a_proxy_on_the_way_to_https_never_sees_the_key() -> None:
    async with raw_server(saying(reply("", 403))) as proxy:
        address = f"http://me:word@127.0.0.1:{proxy.port}"
        async with client_of("https://platform.example", proxy=address) as kit:
            error = await kit.failure()
    assert (type(error), str(error)) == (ProxyFault, "the proxy refused the call (platform.example)")
    sent = proxy.requests[0]
    assert (sent.method, sent.target, KEY in repr(sent)) == ("CONNECT", "platform.example:443", False)
    assert sent.header("Proxy-Authorization") == "Basic " + base64.b64encode(b"me:word").decode()


async def test_a_proxy_that_is_not_there() -> None:
    async with listening(Line.hung_up) as port:
        pass
    async with client_of("http://platform.example", proxy=f"127.0.0.1:{port}") as kit:
        error = await kit.failure()
    assert (type(error), str(error)) == (
        ProxyFault,
        "the proxy refused the call (platform.example: Connection refused)",
    )


async def test_a_certificate_file_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        connector("https://platform.example", 1, one_thread("names"), connect_seconds=1.0, ca_file="/nowhere/ca.pem")


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
