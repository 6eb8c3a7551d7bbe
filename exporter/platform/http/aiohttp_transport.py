"""Sends httpx's requests with aiohttp, and translates its answers and exceptions into those of httpx.

Importing it takes 0.1 s, of which most is aiohttp.
"""

import asyncio
import os
import select
import socket
import ssl
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Executor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, cast

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import BadHttpMessage, HttpProcessingError, LineTooLong
from yarl import URL

from exporter.blocking import blocking
from exporter.platform.http.transport import HeadTooLargeError
from exporter.platform.operation import ADDRESS, ANEW

KEEPALIVE_SECONDS = 75.0
# The headers of an answer that are passed on; all of them would take twice the time.
_READ = frozenset({b"content-length", b"date", b"retry-after"})
_PIECE = 64 * 1024
_GZIP = zlib.MAX_WBITS + 16
_GZIP_MAGIC = b"\x1f\x8b"
# Gateways send the character set of a body that is not encoded.
_PLAIN = ("", "identity", "utf-8", "utf8")
# Whether the request of this task takes a new connection.
_is_anew = ContextVar("_is_anew", default=False)


class AiohttpTransport(httpx.AsyncBaseTransport):
    """A pool of connections; it keeps no cookies, and sends each request once.

    Args:
        max_in_flight: the highest number of connections.
        connect_seconds: the time limit for connecting.
        names: looks up the names of hosts.
        context: the trusted certificates; None for the system's, which aiohttp reads once for all sessions.
        proxy: the proxy of all requests.
    """

    def __init__(
        self,
        max_in_flight: int,
        connect_seconds: float,
        names: Executor,
        context: ssl.SSLContext | None,
        proxy: httpx.Proxy | None,
    ) -> None:
        self._session = aiohttp.ClientSession(
            connector=_Connector(
                limit=max_in_flight,
                keepalive_timeout=KEEPALIVE_SECONDS,
                ssl=True if context is None else context,
                resolver=aiohttp.ThreadedResolver(_Names(names)),  # type: ignore[arg-type] # these are all that it calls
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(sock_connect=connect_seconds),
            middlewares=(_send_once,),
        )
        self._proxy = None if proxy is None else str(proxy.url)
        self._proxy_headers: dict[str, str] | None = None
        if proxy is not None and proxy.raw_auth is not None:
            # aiohttp sends it as Proxy-Authorization; its own argument for credentials is deprecated.
            self._proxy_headers = {"Authorization": f"Basic {b64encode(b':'.join(proxy.raw_auth)).decode()}"}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request without redirects; the body of its answer is decoded while it is read."""
        address = request.extensions[ADDRESS]
        # Parts that are already percent-encoded are not encoded again; a base address may contain them.
        url = URL(address, encoded=address.isascii() and address.isprintable())
        # aiohttp adds the host as it is in the address.
        headers = {name.decode(): value.decode() for name, value in request.headers.raw}
        host, is_zoned, zone = (url.host or "").partition("%")
        if is_zoned:
            # The zone of an IPv6 address is percent-encoded in a URL, and means nothing to the server (RFC 6874).
            headers["Host"] = url.with_host(host).host_port_subcomponent or ""
            url = url.with_host(f"{host}%{zone}")
        _is_anew.set(ANEW in request.extensions)
        try:
            response = await self._session.request(
                request.method,
                url,
                headers=headers,
                data=request.read() or None,
                allow_redirects=False,
                proxy=self._proxy,
                proxy_headers=self._proxy_headers,
            )
        except CAUGHT as error:
            _raise(error)
        read = [pair for pair in response.raw_headers if pair[0].lower() in _READ]
        return httpx.Response(response.status, headers=read, stream=_Body(response))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


@dataclass(frozen=True, slots=True)
class _Names:
    """The look-ups of an event loop, on an executor of the account: its own is shared, and a look-up may hang."""

    executor: Executor

    async def getaddrinfo(self, host: str, port: int, **options: int) -> list[Any]:
        return await blocking(self.executor, socket.getaddrinfo, host, port, **options)

    async def getnameinfo(self, address: tuple[Any, ...], flags: int = 0) -> tuple[str, str]:
        return await blocking(self.executor, socket.getnameinfo, address, flags)


class _Line(ResponseHandler):
    """A connection that is closed when bytes arrive which no request has asked for."""

    is_kept = False
    _is_asking = False

    def set_response_params(self, **params: Any) -> None:  # noqa: ANN401 - aiohttp's own
        """Expect an answer: aiohttp calls this before it sends a request."""
        self._is_asking = True
        super().set_response_params(**params)

    def rest(self) -> None:
        """Expect nothing until the next request."""
        self.is_kept, self._is_asking = True, False

    def has_unread(self) -> bool:
        """Return whether the system has received something that was not read yet, or the end of the connection."""
        if self.transport is None:
            return False
        received = select.poll()
        received.register(self.transport.get_extra_info("socket"), select.POLLIN)
        return bool(received.poll(0))

    def data_received(self, data: bytes) -> None:
        """Take in a part of an answer."""
        if self._is_asking:
            super().data_received(data)
        elif data:
            # aiohttp itself passes no bytes, in order to parse what it has held back.
            self.close()


class _Connector(aiohttp.TCPConnector):
    """A pool whose connections answer only what they were asked."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - aiohttp's own
        super().__init__(**options)
        self._factory = partial(_Line, loop=asyncio.get_running_loop())  # type: ignore[assignment] # a subclass

    async def connect(self, *given: Any, **named: Any) -> Connection:  # noqa: ANN401 - as above
        """Return a kept connection on which nothing has come since its last answer, or a new one."""
        while True:
            connection = await super().connect(*given, **named)
            line, is_usable = cast("_Line", connection.protocol), False
            try:
                # In two turns of the loop, what the system has received is read.
                for _ in range(2 if line.has_unread() else 0):
                    await asyncio.sleep(0)
                is_usable = line.is_connected() and not (line.is_kept and _is_anew.get())
            finally:
                if not is_usable:
                    connection.close()
            if is_usable:
                connection.add_callback(line.rest)
                return connection
            if not line.is_kept:
                raise httpx.RemoteProtocolError("it came before the request")


async def _send_once(request: aiohttp.ClientRequest, sender: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    # After its own exceptions aiohttp repeats idempotent requests, some of which write, outside of the budget and
    # without the observer; after those of httpx it does not.
    try:
        return await sender(request)
    except CAUGHT as error:
        _raise(error)


@dataclass(slots=True, eq=False)
class _Body(httpx.AsyncByteStream):
    """Yields a body, decoded, in pieces of at most 64 KiB."""

    response: aiohttp.ClientResponse

    async def __aiter__(self) -> AsyncIterator[bytes]:
        coding = self.response.headers.get("Content-Encoding", "").strip().lower()
        if coding not in (*_PLAIN, "gzip", "x-gzip"):
            raise httpx.DecodingError("the body has an encoding that was not requested")
        decoder = _Gzip() if coding.endswith("gzip") else None
        try:
            async for part in self.response.content.iter_any():
                if decoder is None:
                    for start in range(0, len(part), _PIECE):
                        yield part[start : start + _PIECE]
                else:
                    for piece in decoder.decode(part):
                        yield piece
        except CAUGHT as error:
            _raise(error)
        if decoder is not None and decoder.is_cut_off:
            raise httpx.DecodingError("the encoded body is cut off")

    async def aclose(self) -> None:
        """Give the connection back to the pool; it is closed if the body was not read to its end."""
        try:
            self.response.release()
        except CAUGHT as error:
            _raise(error)


class _Gzip:
    """Decodes a body of one or several gzip members (RFC 1952, section 2.2); what follows them is ignored."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._has_begun = False

    @property
    def is_cut_off(self) -> bool:
        """Whether a member has not ended."""
        return self._has_begun and not self._member.eof

    def decode(self, part: bytes) -> Iterator[bytes]:
        """Yield the content of received bytes in pieces, so that a short body cannot fill the memory."""
        try:
            while part:
                if self._member.eof:
                    if not part.startswith(_GZIP_MAGIC):
                        return
                    self._member = zlib.decompressobj(_GZIP)
                piece = self._member.decompress(part, _PIECE)
                self._has_begun = self._has_begun or bool(piece)
                yield piece
                part = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error:
            raise httpx.DecodingError("the body cannot be decoded") from None


# The exceptions that aiohttp raises during a request.
CAUGHT = (aiohttp.ClientError, OSError, ValueError)
_Translation = tuple[tuple[type[BaseException], ...], type[httpx.TransportError], type[OSError] | None]

# Exceptions of aiohttp and the sockets, that of httpx, and the class of its cause. The order matters: the first entry
# that matches any exception of the chain decides.
_TRANSLATIONS: tuple[_Translation, ...] = (
    ((aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError), httpx.ProxyError, None),
    ((ssl.SSLError, aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch), httpx.ConnectError, ssl.SSLError),
    ((socket.gaierror, aiohttp.ClientConnectorDNSError), httpx.ConnectError, socket.gaierror),
    ((aiohttp.ConnectionTimeoutError,), httpx.ConnectTimeout, None),
    ((aiohttp.ServerTimeoutError, TimeoutError), httpx.ReadTimeout, None),
    ((aiohttp.ClientConnectorError, ConnectionRefusedError), httpx.ConnectError, None),
    ((aiohttp.InvalidURL, UnicodeError), httpx.UnsupportedProtocol, None),
    # aiohttp reports a truncated body as a fault of its encoding, too.
    ((aiohttp.ClientPayloadError,), httpx.ReadError, None),
    ((aiohttp.ClientResponseError, HttpProcessingError), httpx.RemoteProtocolError, None),
    ((aiohttp.ClientError, OSError), httpx.ReadError, None),
)


def _raise(error: BaseException) -> NoReturn:
    """Raise the exception of httpx for another, without that one, which contains the request and with it the key."""
    fault = translate(error)
    # aiohttp keeps the exception beside the body; its traceback leads back to both, and to what was read of the body.
    error.__traceback__ = None
    try:
        raise fault from fault.__cause__
    finally:
        # A frame that keeps the exception which keeps it would be freed, with the body, by a garbage collection only.
        del fault


def translate(error: BaseException) -> httpx.TransportError:
    """Return the exception of httpx for one of aiohttp or of the sockets.

    Its text is the system's message; its cause is an `ssl.SSLError` or a `socket.gaierror` if one was the cause.
    """
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None:
        # Up to aiohttp 3.13, the exception for a bad certificate has the attribute, and reading it fails.
        inner = getattr(link, "os_error", None)
        # The timeout of the operating system may end a connection before that of the client.
        if isinstance(link, aiohttp.ClientConnectorError) and isinstance(inner, TimeoutError):
            return httpx.ConnectTimeout("")
        if isinstance(link, LineTooLong) or (isinstance(link, BadHttpMessage) and "Too many headers" in link.message):
            return HeadTooLargeError("")
        chain += [link] if inner is None else [link, inner]
        link = link.__cause__ or link.__context__
    for kinds, kind, cause in _TRANSLATIONS:
        for found in chain:
            if isinstance(found, kinds):
                fault = kind(_system_message(found))
                fault.__cause__ = None if cause is None else cause()
                return fault
    return httpx.LocalProtocolError(type(error).__name__)


def _system_message(link: BaseException) -> str:
    refusal = getattr(link, "certificate_error", link)
    if isinstance(refusal, ssl.SSLCertVerificationError):
        return str(getattr(refusal, "verify_message", ""))
    if isinstance(link, OSError) and link.errno is not None and link.errno > 0 and not isinstance(link, ssl.SSLError):
        return os.strerror(link.errno)
    return getattr(link, "strerror", None) or ""
