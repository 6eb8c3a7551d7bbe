"""Finds credentials that others could read."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from exporter.foreign.regular_file import may_be_read_by_others
from exporter.settings.model import Settings
from exporter.validation.configuration_errors import KeyPath


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


def _of_file(place: KeyPath, path: Path | None) -> Iterator[tuple[KeyPath, str]]:
    if path is not None and may_be_read_by_others(path):
        yield (
            place,
            f"every user of this machine may read {path}; expected a file of this process's user, with mode 400",
        )


def _of_url(place: KeyPath, url: str, what: str, proxy: str | None = None) -> Iterator[tuple[KeyPath, str]]:
    parts = urlsplit(url)
    if parts.scheme == "http" and (proxy is not None or not _is_loopback(parts.hostname or "")):
        yield place, f"the {what} goes to {parts.hostname} without encryption; expected an https:// address"


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
