"""Sends requests with aiohttp, and translates its exceptions into the errors of `exporter.platform.errors`."""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from exporter.platform import errors
from exporter.platform.http.request import Message
from exporter.platform.http.transport import Proxy, Reply

KEEPALIVE_SECONDS = 75.0


@dataclass(frozen=True, slots=True)
class _AiohttpReply:
    """An answer of aiohttp; exceptions while its body is read become `TransportError`s."""

    _response: aiohttp.ClientResponse
    _host: str

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        with _translating(self._host):
            async for piece in self._response.content.iter_any():
                yield piece

    async def close(self) -> None:
        with _translating(self._host):
            self._response.release()
            await self._response.wait_for_close()


class AiohttpTransport:
    """A `Transport` with a pool of open connections, one for each call that may be in flight.

    Args:
        host: the host of the calls, for messages.
        max_in_flight: the size of the connection pool.
        context: the trusted certificates; None for the system's, which aiohttp reads once for all transports.
        proxy: the proxy of all calls.
    """

    def __init__(self, host: str, max_in_flight: int, context: ssl.SSLContext | None, proxy: Proxy | None) -> None:
        self._host = host
        self._max_in_flight = max_in_flight
        self._context = context
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Do nothing: the first request needs no preparation."""

    async def send(self, message: Message, connect_seconds: float) -> Reply:
        """Send a request without redirects and without aiohttp's own retries."""
        if self._session is None:
            self._session = self._open_session()
        # Parts that are already percent-encoded are not encoded again; a base address may contain them.
        is_quoted = message.url.isascii() and message.url.isprintable()
        with _translating(self._host):
            response = await self._session.request(
                message.method,
                URL(message.url, encoded=is_quoted),
                headers=message.headers,
                data=message.content,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(sock_connect=connect_seconds),
                proxy=None if self._proxy is None else self._proxy.address,
                proxy_headers=None if self._proxy is None else self._proxy.headers,
            )
        return _AiohttpReply(response, self._host)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self._max_in_flight,
            keepalive_timeout=KEEPALIVE_SECONDS,
            ssl=True if self._context is None else self._context,
        )
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
        # aiohttp would repeat idempotent requests, some of which write, outside of the budget and without the observer.
        session._retry_connection = False  # noqa: SLF001 - there is no public setting
        return session


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        inner = getattr(seen, "os_error", None)
        if isinstance(inner, BaseException):
            yield inner
        seen = seen.__cause__ or seen.__context__


# The order matters: the first entry that matches any exception of the chain decides.
_TRANSLATIONS: tuple[tuple[tuple[type[BaseException], ...], type[errors.TransportError]], ...] = (
    ((aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError), errors.ProxyFault),
    ((ssl.SSLError, aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch), errors.TlsFault),
    ((socket.gaierror, aiohttp.ClientConnectorDNSError), errors.NameFault),
    ((aiohttp.ConnectionTimeoutError,), errors.ConnectTimeout),
    ((aiohttp.ServerTimeoutError, TimeoutError), errors.Deadline),
    ((aiohttp.ClientConnectorError, ConnectionRefusedError), errors.Refused),
    ((aiohttp.InvalidURL, UnicodeError), errors.NameFault),
    # aiohttp reports a truncated body as a fault of its encoding, too.
    ((aiohttp.ClientPayloadError,), errors.Reset),
    ((aiohttp.ClientResponseError, HttpProcessingError), errors.NotHttp),
    ((aiohttp.ClientError, OSError), errors.Reset),
)

# The exceptions that aiohttp raises during a request.
CAUGHT = (aiohttp.ClientError, OSError, TimeoutError, ValueError)

_WORDS: dict[type[errors.TransportError], str] = {
    errors.ProxyFault: "the proxy refused the call",
    errors.TlsFault: "the TLS handshake failed",
    errors.NameFault: "the host name does not resolve",
    errors.ConnectTimeout: "no connection within the time limit",
    errors.Deadline: "no answer within the time limit",
    errors.Refused: "nothing accepts connections there",
    errors.Reset: "the connection ended before the answer did",
    errors.NotHttp: "the answer is not HTTP",
}


@contextmanager
def _translating(host: str) -> Iterator[None]:
    try:
        yield
    except CAUGHT as error:
        # Without the original exception: aiohttp's errors contain the request, and with it the key.
        raise translate(error, host) from None


def translate(error: BaseException, host: str) -> errors.TransportError:
    """Translate an exception of aiohttp or of the sockets.

    The text names the host and, for TLS and sockets, the system's message; never a header or the query of a URL.
    """
    chain = list(_chain(error))
    if any(isinstance(link, aiohttp.ClientConnectorError) and _gave_up(link) for link in chain):
        return errors.ConnectTimeout(f"{_WORDS[errors.ConnectTimeout]} ({host})")
    for kinds, ours in _TRANSLATIONS:
        for link in chain:
            if isinstance(link, kinds):
                return ours(f"{_WORDS[ours]} ({host}{_detail(link)})")
    return errors.TransportError(f"the call failed ({host}: {type(error).__name__})")


def _gave_up(connecting: aiohttp.ClientConnectorError) -> bool:
    """Return whether the timeout of the operating system ended the connection before that of the client."""
    return isinstance(connecting.os_error, TimeoutError)


def _detail(link: BaseException) -> str:
    """Return the operating system's message."""
    refusal = getattr(link, "certificate_error", link)
    if isinstance(refusal, ssl.SSLCertVerificationError):
        said = getattr(refusal, "verify_message", "")
    elif isinstance(link, OSError) and link.errno is not None and link.errno > 0 and not isinstance(link, ssl.SSLError):
        said = os.strerror(link.errno)
    else:
        said = getattr(link, "strerror", None) or ""
    return f": {said}" if said else ""
