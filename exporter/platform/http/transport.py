"""The transport of an account: its connections, trusted certificates, and the errors of its exceptions."""

import socket
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from importlib import import_module

import httpx

from exporter.blocking import blocking
from exporter.platform import errors
from exporter.platform.http.proxy import proxy_of

CAUGHT = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)


class HeadTooLargeError(httpx.RemoteProtocolError):
    """A header of an answer is too long, or it has too many."""


# The first entry that matches decides.
_ERRORS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[errors.PlatformError], str], ...] = (
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
    (HeadTooLargeError, errors.BodyTooLarge, "the answer has a header over 8190 bytes, or over 128 headers"),
    (httpx.RemoteProtocolError, errors.NotHttp, "the answer is not HTTP"),
    (Exception, errors.TransportError, "the call failed"),
)


# Returns a function that creates an account's transport, as `connector` does.
Connector = Callable[..., Callable[[], Awaitable[httpx.AsyncBaseTransport]]]


def connector(
    base_url: str,
    max_in_flight: int,
    names: Executor,
    *,
    connect_seconds: float,
    ca_file: str | None = None,
    proxy: str | None = None,
) -> Callable[[], Awaitable[httpx.AsyncBaseTransport]]:
    """Return what makes the transport of an account; httpx's own pool slows down as it grows.

    Args:
        base_url: the address of the calls, which decides whether a proxy of the environment applies.
        max_in_flight: the size of the connection pool.
        names: looks up the names of hosts.
        connect_seconds: the time limit for connecting.
        ca_file: certificates to trust in place of the system's.
        proxy: a proxy's URL; None for the environment's, as `proxy_of` chooses it.

    Raises:
        OSError: the file of certificates cannot be read.
        ProxyFault: the environment's proxy setting is not the URL of an HTTP proxy.
    """
    context = None if ca_file is None else ssl.create_default_context(cafile=ca_file)
    through = proxy_of(base_url, proxy)

    async def connect() -> httpx.AsyncBaseTransport:
        # Importing aiohttp takes 0.1 s. The daemon answers its first scrape before that.
        await blocking(names, import_module, "exporter.platform.http.aiohttp_transport")
        from exporter.platform.http.aiohttp_transport import AiohttpTransport  # noqa: PLC0415

        return AiohttpTransport(max_in_flight, connect_seconds, names, context, through)

    return connect


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
