"""Finds credentials that others could read, in files that every user may read or in unencrypted requests."""

import os
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from exporter.foreign.regular_file import may_be_read_by_others
from exporter.settings.endpoint_names import misnamed
from exporter.settings.model import Settings
from exporter.validation.faults import KeyPath


def exposed(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each setting that exposes a credential, and a message."""
    for number, account in enumerate(settings.accounts):
        place: KeyPath = ("accounts", number)
        yield from _of_file((*place, "api_key_file"), account.api_key_file)
        yield from _of_url((*place, "base_url"), account.base_url, "key", account.proxy)
    for number, database in enumerate(settings.databases):
        place = ("databases", number)
        yield from _of_file((*place, "auth_token_file"), database.auth_token_file)
        yield from _of_url((*place, "url"), database.url, "token")
    yield from _of_file(("state", "url_file"), settings.state.url_file)


def warnings(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path and message of each setting that exposes a credential or breaks a naming convention."""
    yield from exposed(settings)
    yield from misnamed(settings.endpoints)


def _of_file(place: KeyPath, path: Path | None) -> Iterator[tuple[KeyPath, str]]:
    if path is not None and may_be_read_by_others(path):
        yield place, f"every user of this machine may read {path}; correct this with 'chmod o-r {path}'"


def _of_url(place: KeyPath, url: str, what: str, proxy: str | None = None) -> Iterator[tuple[KeyPath, str]]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    by_proxy = proxy is not None or _is_proxied_by_environment(host)
    if parts.scheme == "http" and (by_proxy or not _is_loopback(host)):
        way = "through a proxy without encryption" if by_proxy else "without encryption"
        yield place, f"the {what} goes to {host} {way}; expected an https:// address"


def _is_proxied_by_environment(host: str) -> bool:
    if not any(name.lower() == "http_proxy" for name in os.environ):
        return False
    # This imports ssl, which takes time.
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415

    return "http" in getproxies() and not proxy_bypass(host)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
