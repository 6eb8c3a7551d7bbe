"""The transport of an account: its connections, trusted certificates, proxy, and the errors of its exceptions."""

import asyncio
import socket
import ssl
from importlib import import_module
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from exporter.platform import errors
from exporter.platform.http.mask import is_ambiguous

if TYPE_CHECKING:
    from exporter.platform.http.aiohttp_session import Session

CAUGHT = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)

# The first entry that matches decides.
_ERRORS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[errors.TransportError], str], ...] = (
    (httpx.ProxyError, errors.ProxyFault, "the proxy refused the call"),
    (ssl.SSLError, errors.TlsFault, "the TLS handshake failed"),
    (
        (socket.gaierror, httpx.InvalidURL, httpx.UnsupportedProtocol),
        errors.NameFault,
        "the host name does not resolve",
    ),
    ((httpx.ConnectTimeout, httpx.PoolTimeout), errors.ConnectTimeout, "no connection within the time limit"),
    (httpx.TimeoutException, errors.Deadline, "no answer within the time limit"),
    (httpx.ConnectError, errors.Refused, "nothing accepts connections there"),
    (httpx.NetworkError, errors.Reset, "the connection ended before the answer did"),
    (httpx.RemoteProtocolError, errors.NotHttp, "the answer is not HTTP"),
    (Exception, errors.TransportError, "the call failed"),
)


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Carries requests over aiohttp's connections; httpx's own pool slows down as it grows.

    Args:
        base_url: the address of the calls, which decides whether a proxy of the environment applies.
        max_in_flight: the size of the connection pool.
        connect_seconds: the time limit for connecting.
        ca_file: certificates to trust in place of the system's.
        proxy: a proxy's URL; None for the environment's (`HTTPS_PROXY`, `NO_PROXY`).

    Raises:
        OSError: the file of certificates cannot be read.
        ProxyFault: the environment's proxy setting is not a URL.
    """

    def __init__(
        self,
        base_url: str,
        max_in_flight: int,
        *,
        connect_seconds: float,
        ca_file: str | None = None,
        proxy: str | None = None,
    ) -> None:
        self._max_in_flight = max_in_flight
        self._connect_seconds = connect_seconds
        self._context = None if ca_file is None else ssl.create_default_context(cafile=ca_file)
        self._proxy = _proxy(base_url, proxy)
        self._turn = asyncio.Lock()
        self._session: Session | None = None

    async def __aenter__(self) -> Self:
        """Prepare the first request, so that its time limit does not include the import of aiohttp."""
        if self._session is None:
            await self._opened()
        return self

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request once, and return its answer, whose body is decoded while it is read."""
        return await (self._session or await self._opened()).send(request)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _opened(self) -> "Session":
        async with self._turn:
            if self._session is None:
                # Importing aiohttp takes 0.1 s. The daemon answers its first scrape before that.
                await asyncio.to_thread(import_module, "exporter.platform.http.aiohttp_session")
                from exporter.platform.http.aiohttp_session import Session  # noqa: PLC0415

                self._session = Session(self._max_in_flight, self._connect_seconds, self._context, self._proxy)
            return self._session


def _proxy(base_url: str, configured: str | None) -> httpx.Proxy | None:
    parts = urlsplit(base_url)
    address = configured or (None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme))
    if not address:
        return None
    try:
        proxy = httpx.Proxy(address if "://" in address else f"http://{address}")
        is_usable = proxy.url.scheme in ("http", "https") and bool(proxy.url.host) and proxy.url.port != 0
    except (ValueError, httpx.InvalidURL):
        is_usable = False
    if not is_usable or is_ambiguous(address):
        raise errors.ProxyFault("the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY) is not a URL")
    return proxy


def fault_of(error: Exception, host: str) -> errors.PlatformError:
    """Return the error for an exception of httpx.

    Its text names the host and the system's message; never a header or the query of a URL.
    """
    if isinstance(error, httpx.DecodingError):
        return errors.NotJson(str(error))
    kind, words = next(
        (kind, words)
        for kinds, kind, words in _ERRORS
        if isinstance(error, kinds) or isinstance(error.__cause__, kinds)
    )
    said = "" if isinstance(error, httpx.InvalidURL) else str(error)
    return kind(f"{words} ({host}: {said})" if said else f"{words} ({host})")
