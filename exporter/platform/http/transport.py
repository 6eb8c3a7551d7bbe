"""Sends httpx requests with aiohttp, and translates aiohttp's answers and exceptions to those of httpx.

aiohttp is used because the connection pool of httpx slows down as the pool grows. Importing this module takes long.
"""

import asyncio
import os
import select
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import aiohttp
import httpx
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import BadHttpMessage, ContentEncodingError, HttpProcessingError, LineTooLong
from yarl import URL

from exporter.blocking import blocking
from exporter.platform.http.client import HeadTooLarge, TlsFailed, Unresolved
from exporter.platform.operation import ADDRESS

# How many seconds an unused connection is kept; 75 is also the default of nginx.
KEEPALIVE_SECONDS = 75.0
# The shares of an attempt's time limit that the look-up of the host name, and one try to connect, may take.
LOOKUP_SHARE, CONNECT_SHARE = 0.9, 0.5
# The headers of an answer that the client reads. Other headers are not passed on, because that would take longer.
_PASSED_ON = frozenset({b"content-length", b"date", b"retry-after"})


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Sends requests over a pool of connections. Keeps no cookies, and does not repeat requests.

    Args:
        time_limit: the time limit of an attempt, in seconds.
        lookups: the executor on which host names are looked up.

    Attributes:
        losses: the number of requests so far whose connection was lost before an answer. Connections from before the
            last loss are not used again.
    """

    def __init__(self, max_in_flight: int, time_limit: float, lookups: Executor, proxy: httpx.Proxy | None) -> None:
        self.losses = 0
        connector = _Connector(
            time_limit * LOOKUP_SHARE,
            limit=max_in_flight,
            keepalive_timeout=KEEPALIVE_SECONDS,
            # `ThreadedResolver` expects an event loop, but calls only the two methods that `_NameLookups` has.
            resolver=aiohttp.ThreadedResolver(_NameLookups(lookups)),  # type: ignore[arg-type]
        )
        # aiohttp has no argument for the class of connections.
        create = partial(_Connection, asyncio.get_running_loop(), self)
        connector._factory = create  # type: ignore[assignment] # noqa: SLF001
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(sock_connect=time_limit * CONNECT_SHARE),
        )
        # aiohttp would repeat requests by itself, even some that write: outside of the budget, and uncounted.
        self._session._retry_connection = False  # noqa: SLF001
        self._proxy = None if proxy is None else str(proxy.url)
        self._proxy_headers: dict[str, str] | None = None
        if proxy is not None and proxy.raw_auth is not None:
            # aiohttp sends this header to the proxy as Proxy-Authorization. The argument `proxy_auth` is deprecated.
            self._proxy_headers = {"Authorization": f"Basic {b64encode(b':'.join(proxy.raw_auth)).decode()}"}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return the answer before its body is read; redirects are not followed.

        Raises:
            httpx.RequestError: there is no answer.
        """
        if self._session.closed:
            raise httpx.LocalProtocolError("the client has been closed")
        address = request.extensions[ADDRESS]
        # The parameters are percent-encoded already. yarl encodes the URL only if the configured part is not ASCII.
        url = URL(address, encoded=address.isascii())
        # aiohttp adds the header `Host`.
        headers = {name.decode(): value.decode() for name, value in request.headers.raw}
        try:
            response = await self._session.request(
                request.method,
                url,
                headers=headers,
                # For an empty body, aiohttp would send `Content-Length: 0` and a `Content-Type`, also with GET.
                data=request.read() or None,
                allow_redirects=False,
                proxy=self._proxy,
                proxy_headers=self._proxy_headers,
            )
        except _CAUGHT as error:
            if isinstance(error, _LOST) and not isinstance(error, aiohttp.ClientConnectorError):
                self.losses += 1
            _raise(error, is_proxied=self._proxy is not None)
        passed_on = [(name, value) for name, value in response.raw_headers if name.lower() in _PASSED_ON]
        return httpx.Response(response.status, headers=passed_on, stream=_Body(response))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


class _Connector(aiohttp.TCPConnector):
    """Opens connections; a request waits at most `lookup_seconds` for the look-up of the host name."""

    def __init__(self, lookup_seconds: float, **options: Any) -> None:  # noqa: ANN401 - those of aiohttp
        super().__init__(**options)
        self._lookup_seconds = lookup_seconds

    async def _resolve_host(self, *args: Any, **options: Any) -> list[ResolveResult]:  # noqa: ANN401 - those of aiohttp
        try:
            # The time limit does not end the look-up. If the look-up ends later, the next attempts use its result.
            async with asyncio.timeout(self._lookup_seconds):
                return await super()._resolve_host(*args, **options)
        except TimeoutError:
            raise socket.gaierror(socket.EAI_AGAIN, "the look-up did not end in time") from None


@dataclass(frozen=True, slots=True)
class _NameLookups:
    """Looks up host names for aiohttp on an executor, because a look-up may hang for long."""

    executor: Executor

    async def getaddrinfo(self, host: str, port: int, **options: int) -> list[Any]:
        return await blocking(self.executor, socket.getaddrinfo, host, port, **options)

    async def getnameinfo(self, address: tuple[Any, ...], flags: int = 0) -> tuple[str, str]:
        return await blocking(self.executor, socket.getnameinfo, address, flags)


class _Connection(ResponseHandler):
    """A connection that is not used again if bytes followed its last answer, or if the pool's `losses` increases."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pool: AiohttpTransport) -> None:
        super().__init__(loop)
        self._losses = pool.losses
        self._pool = pool

    def is_connected(self) -> bool:
        """Return whether another request may be sent; aiohttp calls this method before it uses a connection again."""
        if not super().is_connected() or self.should_close or self._losses != self._pool.losses:
            return False
        # The socket is readable if something arrived after the last answer, or if the platform closed the connection.
        poller = select.poll()
        poller.register(self.transport.get_extra_info("socket"), select.POLLIN)  # type: ignore[union-attr]
        return not poller.poll(0)


@dataclass(slots=True, eq=False)
class _Body(httpx.AsyncByteStream):
    """Yields the body of an answer in pieces, decompressed."""

    response: aiohttp.ClientResponse

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            part = await self.response.content.readany()
        except _CAUGHT as error:
            _raise(error)
        if not part:
            raise StopAsyncIteration
        return part

    async def aclose(self) -> None:
        """Return the connection to the pool, or close the connection if the body was not read to its end."""
        try:
            self.response.release()
        except _CAUGHT as error:
            _raise(error)


# The exceptions for a lost connection. But `ClientConnectorError`, a subclass of `ClientOSError`, means that no
# connection was made.
_LOST = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)
# The exceptions that are translated: those of aiohttp and the sockets.
_CAUGHT = (aiohttp.ClientError, OSError, ValueError)

# Exceptions of aiohttp and the sockets, and the exception of httpx for them. The first entry that matches an exception
# or one of its causes decides.
_TRANSLATIONS: tuple[tuple[tuple[type[BaseException], ...], type[httpx.RequestError]], ...] = (
    ((LineTooLong,), HeadTooLarge),
    ((aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError), httpx.ProxyError),
    ((ssl.SSLError, aiohttp.ClientSSLError), TlsFailed),
    ((socket.gaierror, aiohttp.InvalidURL, UnicodeError), Unresolved),
    ((aiohttp.ServerTimeoutError, TimeoutError), httpx.ConnectTimeout),
    ((aiohttp.ClientConnectorError,), httpx.ConnectError),
    ((ContentEncodingError,), httpx.DecodingError),
    # Before the next entry: if the body was cut off, a `ClientPayloadError` has an `HttpProcessingError` as its cause.
    ((aiohttp.ClientPayloadError,), httpx.ReadError),
    ((aiohttp.ClientResponseError, HttpProcessingError), httpx.RemoteProtocolError),
    ((aiohttp.ClientError, OSError), httpx.ReadError),
)


def _raise(error: BaseException, *, is_proxied: bool = False) -> NoReturn:
    """Raise the exception of httpx for `error`, and keep `error`, which may contain the key, out of tracebacks."""
    fault = _translated(error, is_proxied=is_proxied)
    # The body's object in aiohttp refers to the exception, and the traceback of the exception refers to the body.
    # Without this line, only a garbage collection would free the body.
    error.__traceback__ = None
    try:
        raise fault from None
    finally:
        # The traceback of `fault` refers to this frame. If the frame also referred to `fault`, a garbage collection
        # would be needed to free both and the body.
        del fault


def _translated(error: BaseException, *, is_proxied: bool) -> httpx.RequestError:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None:
        chain.append(link)
        link = link.__cause__ or link.__context__
    # For too many headers, aiohttp raises a `BadHttpMessage` with this text.
    if any(isinstance(found, BadHttpMessage) and "Too many headers" in found.message for found in chain):
        return HeadTooLarge("")
    for kinds, translation in _TRANSLATIONS:
        for found in chain:
            if isinstance(found, kinds):
                # With a proxy, this machine looks up only the proxy's host name; the proxy looks up the platform's.
                is_proxy_unknown = is_proxied and translation is Unresolved
                kind = httpx.ProxyError if is_proxy_unknown else translation
                return kind(_message_without_key(found))
    # Without the text of the error, which may contain the key.
    return httpx.LocalProtocolError(type(error).__name__)


def _message_without_key(error: BaseException) -> str:
    # If a certificate is refused, the exception of aiohttp contains the exception of TLS.
    refusal = getattr(error, "certificate_error", error)
    if isinstance(refusal, ssl.SSLCertVerificationError):
        return refusal.verify_message
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status}"
    # The error numbers of TLS and of name look-ups are not those of the operating system.
    has_other_numbers = isinstance(error, ssl.SSLError | socket.gaierror)
    number = error.errno if isinstance(error, OSError) and not has_other_numbers else None
    if number is not None and number > 0:
        # asyncio replaces the operating system's message in `strerror` by a text with the address.
        return os.strerror(number)
    return getattr(error, "strerror", None) or ""
