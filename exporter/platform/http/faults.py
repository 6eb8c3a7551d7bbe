"""Translates httpx's exceptions into the errors of `exporter.platform.errors`."""

import socket
import ssl

import httpx

from exporter.platform import errors

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
