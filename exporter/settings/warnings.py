"""Finds credentials that leave this machine without encryption."""

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from exporter.settings.model import Settings
from exporter.validation.configuration_errors import KeyPath


def exposed(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each setting that exposes a credential, and a message."""
    for number, account in enumerate(settings.accounts):
        if _is_plain(account.base_url, has_proxy=account.proxy is not None):
            yield ("accounts", number, "base_url"), _message("key", account.base_url)
    for number, database in enumerate(settings.databases):
        if _is_plain(database.url):
            yield ("databases", number, "url"), _message("token", database.url)


def _is_plain(url: str, *, has_proxy: bool = False) -> bool:
    """Return whether calls to an address leave this machine without encryption."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "http" or has_proxy:
        return parts.scheme == "http"
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")


def _message(what: str, url: str) -> str:
    return f"the {what} goes to {urlsplit(url).hostname} without encryption; expected an https:// address"
