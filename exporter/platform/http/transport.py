"""The HTTP transport under the client, and the one place where its exceptions become ours."""

import os
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from aiohttp.http_exceptions import HttpProcessingError
from httpx_aiohttp import AiohttpTransport

from exporter.platform import errors

KEEPALIVE_SECONDS = 75.0


def build_transport(
    base_url: str, max_in_flight: int, *, ca_file: str | None = None, proxy: str | None = None
) -> httpx.AsyncBaseTransport:
    """The aiohttp transport under httpx's API: httpx's own pool slows down as it grows, this one does not.

    Args:
        base_url: where the calls will go, which decides whether a proxy of the environment applies.
        max_in_flight: the size of the connection pool.
        ca_file: certificates to trust in place of the system's.
        proxy: a proxy's URL; None takes what the environment says (`HTTPS_PROXY`, `NO_PROXY`).
    """
    context = ssl.create_default_context(cafile=ca_file)

    def open_session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=max_in_flight, keepalive_timeout=KEEPALIVE_SECONDS, ssl=context)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        # It would send what it takes for idempotent twice, writes among it, and tell neither budget nor observer.
        session._retry_connection = False  # noqa: SLF001 - there is no other way to say so
        return session

    chosen = proxy or _environment_proxy(base_url)
    if chosen and "://" not in chosen:
        chosen = f"http://{chosen}"
    return AiohttpTransport(
        verify=context, client=open_session, proxy=_proxy(chosen) if chosen else None, trust_env=False
    )


def _environment_proxy(base_url: str) -> str | None:
    parts = urlsplit(base_url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _proxy(address: str) -> httpx.Proxy:
    """The proxy at an address.

    Raises:
        ProxyFault: the address is none; the environment's proxies have been checked by nobody.
    """
    try:
        return _parsed_proxy(address)
    except (ValueError, httpx.InvalidURL):
        raise errors.ProxyFault("the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY) is no URL") from None


def _parsed_proxy(address: str) -> httpx.Proxy:
    url = httpx.URL(address if "://" in address else f"http://{address}")
    if not url.username and not url.password:
        return httpx.Proxy(url)
    # As a header, which aiohttp passes on as Proxy-Authorization; its own way to say it is deprecated.
    header = aiohttp.encode_basic_auth(url.username, url.password)
    return httpx.Proxy(url.copy_with(username=None, password=None), headers={"Authorization": header})


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
    ((aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError, httpx.ProxyError), errors.ProxyFault),
    ((ssl.SSLError, aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch), errors.TlsFault),
    ((socket.gaierror, aiohttp.ClientConnectorDNSError), errors.NameFault),
    ((aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout, httpx.PoolTimeout), errors.ConnectTimeout),
    ((aiohttp.ServerTimeoutError, httpx.TimeoutException, TimeoutError), errors.Deadline),
    ((aiohttp.ClientConnectorError, httpx.ConnectError, ConnectionRefusedError), errors.Refused),
    ((httpx.InvalidURL, httpx.UnsupportedProtocol, aiohttp.InvalidURL, UnicodeError), errors.NameFault),
    # A body that is cut off counts for aiohttp as a fault of its encoding, too.
    ((aiohttp.ClientPayloadError,), errors.Reset),
    ((aiohttp.ClientResponseError, HttpProcessingError, httpx.ProtocolError, httpx.DecodingError), errors.NotHttp),
    ((aiohttp.ClientError, httpx.HTTPError, httpx.StreamError, OSError), errors.Reset),
)

# What a call under httpx with this transport may raise.
CAUGHT = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, aiohttp.ClientError, OSError, TimeoutError, ValueError)

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
    """Turn an exception of httpx, aiohttp or the sockets into ours.

    The text names the host and, for TLS and sockets, the system's own words; never a header or a URL's query.
    """
    # httpx-aiohttp calls a reset a ConnectTimeout; aiohttp's own exception beneath it is the truth.
    chain = list(_chain(error))
    beneath = [link for link in chain if not isinstance(link, httpx.HTTPError)] or chain
    if any(isinstance(link, aiohttp.ClientConnectorError) and _gave_up(link) for link in beneath):
        return errors.ConnectTimeout(f"{_WORDS[errors.ConnectTimeout]} ({host})")
    for kinds, ours in _TRANSLATIONS:
        for link in beneath:
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
