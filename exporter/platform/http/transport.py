"""The HTTP transport under the client: it sends requests with aiohttp, and translates its exceptions into ours."""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from exporter.platform import errors
from exporter.platform.http.request import Message

KEEPALIVE_SECONDS = 75.0


class Reply(Protocol):
    """An answer whose status and headers have come."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by names in any case."""
        ...

    def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives, encoded as it is."""
        ...

    async def close(self) -> None:
        """Give the connection back; it is closed where the body was not read to its end."""
        ...


class Transport(Protocol):
    """Sends requests to one address."""

    async def send(self, message: Message, connect_seconds: float) -> Reply:
        """Send a request, and return its answer, which must be closed.

        Args:
            message: the request.
            connect_seconds: how long the making of a connection may take.

        Raises:
            any of `CAUGHT`: there is no answer.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


@dataclass(frozen=True, slots=True)
class _AiohttpReply:
    """See `Reply`."""

    _response: aiohttp.ClientResponse

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    def pieces(self) -> AsyncIterator[bytes]:
        return aiter(self._response.content.iter_any())

    async def close(self) -> None:
        self._response.release()
        await self._response.wait_for_close()


class AiohttpTransport:
    """Keeps connections open, as many as calls may be in flight.

    Args:
        context: which certificates are trusted; True for the system's, as they were when the process began.
        max_in_flight: the size of the connection pool.
        proxy: the proxy's address, without its credentials.
        proxy_headers: headers for the proxy alone.
    """

    def __init__(
        self,
        context: ssl.SSLContext | Literal[True],
        max_in_flight: int,
        proxy: URL | None,
        proxy_headers: Mapping[str, str],
    ) -> None:
        self._context = context
        self._max_in_flight = max_in_flight
        self._proxy = proxy
        self._proxy_headers = proxy_headers
        self._session: aiohttp.ClientSession | None = None

    async def send(self, message: Message, connect_seconds: float) -> Reply:
        """See `Transport.send`."""
        if self._session is None:
            self._session = self._open_session()
        # What is quoted once is not quoted again; a base address may need it.
        is_quoted = message.url.isascii() and message.url.isprintable()
        response = await self._session.request(
            message.method,
            URL(message.url, encoded=is_quoted),
            headers=message.headers,
            data=message.content,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(sock_connect=connect_seconds),
            proxy=self._proxy,
            proxy_headers=self._proxy_headers,
        )
        return _AiohttpReply(response)

    async def close(self) -> None:
        """See `Transport.close`."""
        if self._session is not None:
            await self._session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self._max_in_flight, keepalive_timeout=KEEPALIVE_SECONDS, ssl=self._context
        )
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
        # It would repeat what it takes for idempotent, writes among it, beside the budget and the observer.
        session._retry_connection = False  # noqa: SLF001 - there is no other way to say so
        return session


def build_transport(
    base_url: str, max_in_flight: int, *, ca_file: str | None = None, proxy: str | None = None
) -> Transport:
    """Make the transport of an account.

    Args:
        base_url: where the calls will go, which decides whether a proxy of the environment applies.
        max_in_flight: the size of the connection pool.
        ca_file: certificates to trust in place of the system's.
        proxy: a proxy's URL; None takes what the environment says (`HTTPS_PROXY`, `NO_PROXY`).
    """
    # The system's certificates take 20 ms to read, which an account that is called without TLS does not need.
    is_tls = ca_file is not None or urlsplit(base_url).scheme == "https"
    context: ssl.SSLContext | Literal[True] = ssl.create_default_context(cafile=ca_file) if is_tls else True
    chosen = proxy or _environment_proxy(base_url)
    address, headers = _proxy(chosen) if chosen else (None, {})
    return AiohttpTransport(context, max_in_flight, address, headers)


def _environment_proxy(base_url: str) -> str | None:
    parts = urlsplit(base_url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _proxy(address: str) -> tuple[URL, Mapping[str, str]]:
    """The proxy at an address, and the headers for it.

    Raises:
        ProxyFault: the address is no URL of a proxy. The environment's proxies are checked nowhere else.
    """
    try:
        url = URL(address if "://" in address else f"http://{address}")
        is_known = url.scheme in ("http", "https") and bool(url.host)
    except ValueError:
        is_known = False
    if not is_known:
        raise errors.ProxyFault("the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY) is no URL")
    if not url.user and not url.password:
        return url, {}
    # As a header, which aiohttp passes on as Proxy-Authorization; its own way to say it is deprecated.
    header = aiohttp.encode_basic_auth(url.user or "", url.password or "")
    return url.with_user(None), {"Authorization": header}


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        inner = getattr(seen, "os_error", None)
        if isinstance(inner, BaseException):
            yield inner
        seen = seen.__cause__ or seen.__context__


# In this order: the first class that any exception of the chain is an instance of decides.
_TRANSLATIONS: tuple[tuple[tuple[type[BaseException], ...], type[errors.TransportError]], ...] = (
    ((aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError), errors.ProxyFault),
    ((ssl.SSLError, aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch), errors.TlsFault),
    ((socket.gaierror, aiohttp.ClientConnectorDNSError), errors.NameFault),
    ((aiohttp.ConnectionTimeoutError,), errors.ConnectTimeout),
    ((aiohttp.ServerTimeoutError, TimeoutError), errors.Deadline),
    ((aiohttp.ClientConnectorError, ConnectionRefusedError), errors.Refused),
    ((aiohttp.InvalidURL, UnicodeError), errors.NameFault),
    # A body that is cut off counts for aiohttp as a fault of its encoding, too.
    ((aiohttp.ClientPayloadError,), errors.Reset),
    ((aiohttp.ClientResponseError, HttpProcessingError), errors.NotHttp),
    ((aiohttp.ClientError, OSError), errors.Reset),
)

# What a call with this transport may raise.
CAUGHT = (aiohttp.ClientError, OSError, TimeoutError, ValueError)

_WORDS: dict[type[errors.TransportError], str] = {
    errors.ProxyFault: "the proxy would not carry the call",
    errors.TlsFault: "the TLS handshake failed",
    errors.NameFault: "the host name does not resolve",
    errors.ConnectTimeout: "no connection within the time for it",
    errors.Deadline: "no answer within the time for it",
    errors.Refused: "nothing accepts connections there",
    errors.Reset: "the connection ended before the answer did",
    errors.NotHttp: "what came back is not HTTP",
}


def translate(error: BaseException, host: str) -> errors.PlatformError:
    """Turn an exception of aiohttp or the sockets into ours.

    The text names the host and, for TLS and sockets, the system's own words; never a header or a URL's query.
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
    """Whether the system's own patience with a connection ended before ours."""
    return isinstance(connecting.os_error, TimeoutError)


def _detail(link: BaseException) -> str:
    """The system's own words."""
    refusal = getattr(link, "certificate_error", link)
    if isinstance(refusal, ssl.SSLCertVerificationError):
        said = getattr(refusal, "verify_message", "")
    elif isinstance(link, OSError) and link.errno is not None and link.errno > 0 and not isinstance(link, ssl.SSLError):
        said = os.strerror(link.errno)
    else:
        said = getattr(link, "strerror", None) or ""
    return f": {said}" if said else ""
