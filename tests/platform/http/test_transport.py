"""How the exceptions of httpx, aiohttp and the sockets are translated, and how calls go through a proxy."""

import asyncio
import base64
import inspect
import os
import socket
import ssl
from typing import Any

import aiohttp
import httpx
import pytest
from aiohttp import client_exceptions, http_exceptions
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from exporter.platform.api import dns
from exporter.platform.errors import (
    ConnectTimeout,
    Deadline,
    NameFault,
    NotHttp,
    NotJson,
    PlatformError,
    ProxyFault,
    Refused,
    Reset,
    TlsFault,
    TransportError,
)
from exporter.platform.http.aiohttp_session import CAUGHT, translate
from exporter.platform.http.transport import AiohttpTransport, fault_of
from tests.platform.clients import KEY, client_of
from tests.platform.raw_server import Line, json_reply, listening, raw_server, reply, saying

GOOD = json_reply('{"TotalQueriesServed": 7}')
CONNECTION: Any = aiohttp.client_reqrep.ConnectionKey("h", 443, True, True, None, None, None)  # noqa: FBT003
REQUEST = aiohttp.RequestInfo(
    URL("http://h/?k=s3cret"), "GET", CIMultiDictProxy(CIMultiDict(AccessKey="s3cret")), URL()
)
REFUSED = ConnectionRefusedError(111, "Connect call failed")


BASES: dict[type[BaseException], tuple[object, ...]] = {
    aiohttp.ClientConnectorCertificateError: (CONNECTION, ssl.SSLCertVerificationError("no")),
    client_exceptions.UnixClientConnectorError: ("/socket", CONNECTION, REFUSED),
    aiohttp.ServerFingerprintMismatch: (b"a", b"b", "h", 443),
    aiohttp.ClientConnectorError: (CONNECTION, REFUSED),
    aiohttp.ClientResponseError: (REQUEST, ()),
    http_exceptions.BadHttpMessage: ("m",),
    http_exceptions.HttpProcessingError: (),
}


def constructed(kind: type[BaseException]) -> BaseException:
    """Return an exception of a class, with the arguments that its constructor needs."""
    return kind(*next((made for base, made in BASES.items() if issubclass(kind, base)), ("m",)))


def exceptions_of(module: object) -> list[type[BaseException]]:
    return [kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, Exception)]


# What it is, however it came about. Bases of others are among them: they are raised themselves at times.
EXPECTED: dict[type[BaseException], type[TransportError]] = {
    aiohttp.ClientProxyConnectionError: ProxyFault,
    aiohttp.ClientHttpProxyError: ProxyFault,
    aiohttp.ClientConnectorCertificateError: TlsFault,
    aiohttp.ClientConnectorSSLError: TlsFault,
    aiohttp.ClientSSLError: TlsFault,
    aiohttp.ServerFingerprintMismatch: TlsFault,
    aiohttp.ClientConnectorDNSError: NameFault,
    aiohttp.InvalidURL: NameFault,
    client_exceptions.InvalidUrlClientError: NameFault,
    client_exceptions.InvalidUrlRedirectClientError: NameFault,
    aiohttp.ConnectionTimeoutError: ConnectTimeout,
    aiohttp.ServerTimeoutError: Deadline,
    aiohttp.SocketTimeoutError: Deadline,
    aiohttp.ClientConnectorError: Refused,
    client_exceptions.UnixClientConnectorError: Refused,
    aiohttp.ClientResponseError: NotHttp,
    aiohttp.ContentTypeError: NotHttp,
    aiohttp.WSServerHandshakeError: NotHttp,
    aiohttp.TooManyRedirects: NotHttp,
    aiohttp.ClientPayloadError: Reset,
    aiohttp.ClientConnectionError: Reset,
    aiohttp.ClientConnectionResetError: Reset,
    aiohttp.ClientError: Reset,
    aiohttp.ClientOSError: Reset,
    aiohttp.ServerConnectionError: Reset,
    aiohttp.ServerDisconnectedError: Reset,
    # New in aiohttp 3.14.
    getattr(client_exceptions, "UploadAbortedError", aiohttp.ClientError): Reset,
    client_exceptions.RedirectClientError: Reset,
    client_exceptions.NonHttpUrlClientError: Reset,
    client_exceptions.NonHttpUrlRedirectClientError: Reset,
    **dict.fromkeys(exceptions_of(http_exceptions), NotHttp),
    socket.gaierror: NameFault,
    UnicodeError: NameFault,
    ssl.SSLError: TlsFault,
    ConnectionRefusedError: Refused,
    ConnectionResetError: Reset,
    BrokenPipeError: Reset,
    TimeoutError: Deadline,
    OSError: Reset,
    ValueError: TransportError,
}
# Of web sockets, which are not used.
NEVER_RAISED = {client_exceptions.WSMessageTypeError}


def test_every_exception_class_of_aiohttp_is_mapped() -> None:
    raised = {
        kind
        for module in (client_exceptions, http_exceptions)
        for kind in exceptions_of(module)
        if kind.__module__.startswith("aiohttp")
    }
    assert sorted(kind.__name__ for kind in raised - set(EXPECTED) - NEVER_RAISED) == []


@pytest.mark.parametrize(("kind", "ours"), EXPECTED.items(), ids=lambda kind: kind.__name__)
def test_an_exception_is_translated(kind: type[BaseException], ours: type[TransportError]) -> None:
    translated = fault_of(translate(constructed(kind)), "platform.example")
    assert (type(translated), "platform.example" in str(translated), "s3cret" in str(translated)) == (ours, True, False)


@pytest.mark.parametrize(
    "kind", [kind for kind in EXPECTED if kind not in exceptions_of(http_exceptions)], ids=lambda kind: kind.__name__
)
def test_whatever_is_translated_is_caught(kind: type[BaseException]) -> None:
    # aiohttp wraps what its parser raises.
    assert issubclass(kind, CAUGHT)


def test_a_connection_that_the_system_gives_up_is_a_connect_timeout() -> None:
    error = aiohttp.ClientConnectorError(CONNECTION, TimeoutError(110, "Connect call failed"))
    fault = fault_of(translate(error), "h")
    assert (type(fault), str(fault)) == (ConnectTimeout, "no connection within the time limit (h)")


OF_HTTPX: dict[type[Exception], type[PlatformError]] = {
    httpx.HTTPError: TransportError,
    httpx.RequestError: TransportError,
    httpx.TransportError: TransportError,
    httpx.TimeoutException: Deadline,
    httpx.ConnectTimeout: ConnectTimeout,
    httpx.ReadTimeout: Deadline,
    httpx.WriteTimeout: Deadline,
    httpx.PoolTimeout: ConnectTimeout,
    httpx.NetworkError: Reset,
    httpx.ConnectError: Refused,
    httpx.ReadError: Reset,
    httpx.WriteError: Reset,
    httpx.CloseError: Reset,
    httpx.ProxyError: ProxyFault,
    httpx.UnsupportedProtocol: NameFault,
    httpx.InvalidURL: NameFault,
    httpx.ProtocolError: TransportError,
    httpx.LocalProtocolError: TransportError,
    httpx.RemoteProtocolError: NotHttp,
    httpx.DecodingError: NotJson,
    httpx.TooManyRedirects: TransportError,
    httpx.HTTPStatusError: TransportError,
    httpx.StreamError: TransportError,
    httpx.StreamConsumed: TransportError,
    httpx.StreamClosed: TransportError,
    httpx.ResponseNotRead: TransportError,
    httpx.RequestNotRead: TransportError,
}


@pytest.mark.parametrize(
    "kind", [kind for kind in exceptions_of(httpx) if kind is not httpx.CookieConflict], ids=lambda kind: kind.__name__
)
async def test_every_exception_of_httpx_is_an_error_of_its_class(kind: type[Exception]) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        if issubclass(kind, httpx.HTTPStatusError):
            raise kind("m", request=request, response=httpx.Response(500))
        raise kind(*(["m"] if inspect.signature(kind).parameters else []))

    async with client_of("http://platform.example", transport=httpx.MockTransport(fail)) as kit:
        with pytest.raises(PlatformError) as caught:
            await dns.statistics(kit.calls, 102)
    assert (type(caught.value), KEY in str(caught.value)) == (OF_HTTPX[kind], False)


async def failure(url: str, proxy: str | None = None) -> PlatformError:
    async with client_of(url, proxy=proxy) as kit:
        with pytest.raises(PlatformError) as caught:
            await dns.statistics(kit.calls, 102)
    return caught.value


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
    async with raw_server(saying(reply(403))) as proxy:
        error = await failure("https://platform.example", f"http://me:word@127.0.0.1:{proxy.port}")
    assert (type(error), str(error)) == (ProxyFault, "the proxy refused the call (platform.example)")
    sent = proxy.requests[0]
    assert (sent.method, sent.target, KEY in repr(sent)) == ("CONNECT", "platform.example:443", False)
    assert sent.header("Proxy-Authorization") == "Basic " + base64.b64encode(b"me:word").decode()


async def test_a_proxy_that_is_not_there() -> None:
    async with listening(Line.hung_up) as port:
        pass
    error = await failure("http://platform.example", f"127.0.0.1:{port}")
    assert (type(error), str(error)) == (
        ProxyFault,
        "the proxy refused the call (platform.example: Connection refused)",
    )


async def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    async with raw_server(saying(GOOD)) as proxy, raw_server(saying(GOOD)) as direct:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1,.internal.example")
        async with client_of("http://platform.example") as kit:
            await dns.statistics(kit.calls, 102)
        async with client_of(direct.url) as kit:
            await dns.statistics(kit.calls, 102)
    assert [sent.target for sent in proxy.requests] == ["http://platform.example/dnszone/102/statistics"]
    assert [sent.target for sent in direct.requests] == ["/dnszone/102/statistics"]


@pytest.mark.parametrize(
    "address", ["gopher://127.0.0.1", "http://127.0.0.1:port", "http://me:1/s3cret@127.0.0.1:3128"]
)
def test_an_environment_that_names_no_proxy_is_told_so(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", address)
    with pytest.raises(ProxyFault, match="the proxy that the environment names"):
        AiohttpTransport("http://platform.example", 1, connect_seconds=1.0)


async def test_a_certificate_file_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        AiohttpTransport("https://platform.example", 1, connect_seconds=1.0, ca_file="/nowhere/ca.pem")


async def test_cookies_are_not_kept() -> None:
    answer = json_reply('{"TotalQueriesServed": 7}', Set_Cookie="session=1; Path=/")
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
