"""Finds the proxy of a client in the environment, and creates the transport that sends the client's requests.

docs/configuration.md, "Proxies", has the rules by which the proxy is chosen.
"""

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from importlib import import_module
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

import httpx

from exporter.blocking import blocking
from exporter.mask import has_ambiguous_password
from exporter.platform import errors
from exporter.platform.operation import DEFAULT_PORTS

# The type of the function `connector`.
Connector = Callable[..., Callable[[], Awaitable[httpx.AsyncBaseTransport]]]

# An entry of NO_PROXY: `[2001:db8::1]:8080`, `host:8080`, or an entry without a port, in which brackets are optional.
_ENTRY = re.compile(r"\[(?P<v6>[^\]]+)\](?::(?P<v6_port>\d+))?|(?P<host>[^:]+):(?P<port>\d+)|(?P<bare>.+)")


def connector(
    base_url: str, max_in_flight: int, lookups: Executor, *, time_limit: float
) -> Callable[[], Awaitable[httpx.AsyncBaseTransport]]:
    """Return a function that creates the transport of a client.

    Args:
        base_url: the base address of the calls; the choice of the proxy depends on this address.
        max_in_flight: the highest number of connections.
        lookups: the executor on which host names are looked up.
        time_limit: the time limit of an attempt, in seconds.

    Raises:
        ProxyFault: the environment's proxy setting cannot be used.
    """
    proxy = proxy_of(base_url)

    async def connect() -> httpx.AsyncBaseTransport:
        # Importing aiohttp takes long: on the event loop, it would delay scrapes.
        await blocking(lookups, import_module, "exporter.platform.http.transport")
        from exporter.platform.http.transport import AiohttpTransport  # noqa: PLC0415

        return AiohttpTransport(max_in_flight, time_limit, lookups, proxy)

    return connect


def proxy_of(base_url: str) -> httpx.Proxy | None:
    """Return the proxy for calls to an address; None for calls without a proxy.

    Raises:
        ProxyFault: the environment's proxy setting cannot be used.
    """
    address, variable = _address_and_variable(base_url)
    if not address:
        return None
    try:
        proxy = httpx.Proxy(address if "://" in address else f"http://{address}")
        has_usable_port = proxy.url.port is None or proxy.url.port in range(1, 65536)
        is_usable = proxy.url.scheme in ("http", "https") and bool(proxy.url.host) and has_usable_port
    except (ValueError, httpx.InvalidURL):
        is_usable = False
    if not is_usable or has_ambiguous_password(address):
        expected = "one such as http://proxy.example.net:3128, where a password is percent-encoded (@ as %40, / as %2F)"
        raise errors.ProxyFault(f"{variable} is not the URL of an HTTP proxy; expected {expected}")
    return proxy


def _address_and_variable(base_url: str) -> tuple[str, str]:
    """Return the address of the proxy and the name of the variable with the address; both are empty without a proxy."""
    parts = urlsplit(base_url)
    # A key is the beginning of a variable's name: `https` of `HTTPS_PROXY`, `all` of `ALL_PROXY`, `no` of `NO_PROXY`.
    proxies = getproxies_environment()
    key = parts.scheme if proxies.get(parts.scheme) else "all"
    address = proxies.get(key, "")
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    if is_direct(parts.hostname or "", port, proxies.get("no", "")):
        return "", ""
    return address, f"{key}_proxy".upper()


def proxy_secrets(base_url: str) -> tuple[str, ...]:
    """Return the secrets of the proxy for an address: the password or token, and the credentials in base64.

    Empty if there is no proxy, or if the proxy has no credentials.

    Raises:
        ProxyFault: the environment's proxy setting cannot be used.
    """
    proxy = proxy_of(base_url)
    if proxy is None or proxy.raw_auth is None:
        return ()
    user, password = proxy.raw_auth
    encoded = b64encode(b":".join(proxy.raw_auth)).decode()
    # Without a password, the user name may be a token. The base64 is masked even where its padding is missing.
    return (password or user).decode(), encoded.rstrip("=")


def is_direct(host: str, port: int, excluded: str) -> bool:
    """Return whether calls to a host use no proxy, because the host is a loopback host or excluded by `NO_PROXY`.

    `host` is a host name, which may end with a dot, or an address without brackets. `excluded` is the value of
    `NO_PROXY`: `*`, addresses, networks and domains. Each of them may have a port.
    """
    host = host.lower().rstrip(".")
    address = _as_ip_address(host)
    is_loopback_name = host == "localhost" or host.endswith(".localhost")
    if is_loopback_name or (address is not None and address.is_loopback):
        return True
    return any(_excludes(entry, host, address, port) for entry in re.split(r"[,\s]+", excluded.lower()))


def _excludes(entry: str, host: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
    parts = _ENTRY.fullmatch(entry)
    if parts is None:  # the entry is empty
        return False
    entry_port = parts["v6_port"] or parts["port"]
    if entry_port is not None and entry_port.lstrip("0") != str(port):
        return False
    name = parts["v6"] or parts["host"] or parts["bare"]
    if name == "*":
        return True
    if address is not None:
        try:
            return address in ip_network(name, strict=False)
        except ValueError:
            return False
    # `example.net`, `.example.net` and `*.example.net` have the same effect: they exclude the domain and its hosts.
    domain = name.removeprefix("*").strip(".")
    return host == domain or host.endswith(f".{domain}")


def _as_ip_address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
