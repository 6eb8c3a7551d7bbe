"""The interface to the HTTP library, and the construction of an account's transport from its settings."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from exporter.platform import errors
from exporter.platform.http.request import Message


class Reply(Protocol):
    """An answer whose status and headers have been received."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by names in any case."""
        ...

    def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, in its content encoding.

        Raises:
            TransportError: the body is not received completely.
        """
        ...

    async def close(self) -> None:
        """Give the connection back to the pool; it is closed if the body was not read to its end."""
        ...


class Transport(Protocol):
    """Sends requests to one address."""

    async def open(self) -> None:
        """Prepare the first request; call it before each one."""
        ...

    async def send(self, message: Message, connect_seconds: float) -> Reply:
        """Send a request, and return its answer, which must be closed.

        Args:
            message: the request.
            connect_seconds: the time limit for connecting.

        Raises:
            TransportError: there is no answer.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy.

    Attributes:
        address: its URL, without credentials.
        headers: headers that only the proxy receives.
    """

    address: str
    headers: Mapping[str, str]


class DeferredTransport:
    """A transport that is built at the first request, on a thread.

    Args:
        build: builds it.
    """

    def __init__(self, build: Callable[[], Transport]) -> None:
        self._build = build
        self._turn = asyncio.Lock()
        self._transport: Transport | None = None

    async def open(self) -> None:
        """Build the transport now, so that no request waits for it."""
        await self._opened()

    async def send(self, message: Message, connect_seconds: float) -> Reply:
        """Send a request, with the transport that the first one builds."""
        return await (await self._opened()).send(message, connect_seconds)

    async def close(self) -> None:
        """Close the transport, if it was ever built."""
        if self._transport is not None:
            await self._transport.close()

    async def _opened(self) -> Transport:
        if self._transport is not None:
            return self._transport
        async with self._turn:
            return await self._open_once()

    async def _open_once(self) -> Transport:
        if self._transport is not None:
            # Another call has built it in the meantime.
            return self._transport
        built = await asyncio.to_thread(self._build)
        self._transport = built
        return built


def build_transport(
    base_url: str, max_in_flight: int, *, ca_file: str | None = None, proxy: str | None = None
) -> Transport:
    """Build the transport of an account.

    Args:
        base_url: the address of the calls, which decides whether a proxy of the environment applies.
        max_in_flight: the size of the connection pool.
        ca_file: certificates to trust in place of the system's.
        proxy: a proxy's URL; None for the environment's (`HTTPS_PROXY`, `NO_PROXY`).

    Raises:
        OSError: the file of certificates cannot be read.
        ProxyFault: the environment's proxy setting is not a URL.
    """
    context = None if ca_file is None else ssl.create_default_context(cafile=ca_file)
    address = proxy or _environment_proxy(base_url)
    chosen = _proxy(address) if address else None
    host = urlsplit(base_url).netloc.rpartition("@")[2]

    def build() -> Transport:
        # Importing aiohttp takes 0.1 s. The daemon answers its first scrape before that, and a dry run never needs it.
        from exporter.platform.http.aiohttp_transport import AiohttpTransport  # noqa: PLC0415

        return AiohttpTransport(host, max_in_flight, context, chosen)

    return DeferredTransport(build)


def _environment_proxy(base_url: str) -> str | None:
    parts = urlsplit(base_url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _proxy(address: str) -> Proxy:
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        # Accessing `port` raises an error if it is invalid.
        is_known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_known = False
    if not is_known:
        raise errors.ProxyFault("the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY) is not a URL")
    credentials, _, place = parts.netloc.rpartition("@")
    if not credentials:
        return Proxy(parts.geturl(), {})
    # aiohttp sends the header as Proxy-Authorization; its own argument for credentials is deprecated.
    user, _, password = credentials.partition(":")
    header = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    return Proxy(parts._replace(netloc=place).geturl(), {"Authorization": f"Basic {header}"})
