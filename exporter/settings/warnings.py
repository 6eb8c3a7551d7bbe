"""Finds what is allowed and should not be: credentials that others could read, and misleading names of metrics."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from exporter.collectors.endpoints.endpoint import Endpoint, EndpointMetric
from exporter.foreign.regular_file import may_be_read_by_others
from exporter.settings.model import Settings
from exporter.validation.faults import KeyPath

_BASE_UNITS = {
    **dict.fromkeys(("milliseconds", "ms", "minutes", "hours", "days", "weeks"), "seconds"),
    **dict.fromkeys(("kilobytes", "megabytes", "gigabytes", "kb", "mb", "gb", "kib", "mib", "gib", "bits"), "bytes"),
    **dict.fromkeys(("percent", "percentage", "percents"), "ratio"),
    "cents": "dollars",
}
_TYPES = frozenset({"gauge", "counter", "histogram", "summary"})
_OF_HISTOGRAMS = ("_count", "_sum")


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
        yield place, f"every user of this machine may read {path}; correct this with '{_command_to_close(path)}'"


def _command_to_close(path: Path) -> str:
    """Return the command that takes a file from others, and leaves it readable for this process."""
    status, user = path.stat(), os.geteuid()
    is_of_group = status.st_gid in (os.getegid(), *os.getgroups()) and status.st_mode & stat.S_IRGRP
    if user in (0, status.st_uid) or is_of_group:
        return f"chmod o-r {path}"
    return f"chown {user} {path} && chmod 400 {path}"


def _of_url(place: KeyPath, url: str, what: str, proxy: str | None = None) -> Iterator[tuple[KeyPath, str]]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    by_proxy = proxy is not None or _is_proxied_by_environment(url)
    if parts.scheme == "http" and (by_proxy or not _is_loopback(host)):
        way = "through a proxy without encryption" if by_proxy else "without encryption"
        yield place, f"the {what} goes to {host} {way}; expected an https:// address"


def _is_proxied_by_environment(url: str) -> bool:
    if not any(name.lower() in ("http_proxy", "all_proxy") for name in os.environ):
        return False
    from exporter.platform.http.proxy import environment_proxy  # noqa: PLC0415 - this imports httpx, which takes time

    return bool(environment_proxy(url)[0])


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def misnamed(endpoints: Iterable[Endpoint]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each metric whose name breaks Prometheus' conventions, as promlint does, and a message."""
    for place, endpoint in enumerate(endpoints):
        for number, metric in enumerate(endpoint.metrics):
            for message in _of_metric(metric):
                yield ("endpoints", place, "metrics", number, "name"), message


def _of_metric(metric: EndpointMetric) -> Iterator[str]:
    name = metric.name
    words = name.lower().split("_")
    if not metric.help:
        yield f"'{name}' has no help text"
    if re.search(r"[a-z][A-Z]", name):
        yield f"'{name}' is written in camelCase; expected snake_case"
    if ":" in name:
        yield f"'{name}' contains ':', which is reserved for recording rules"
    for word in words:
        if word in _BASE_UNITS:
            yield f"'{name}' is in {word}; expected the base unit {_BASE_UNITS[word]}, with scale"
        if word in _TYPES:
            yield f"'{name}' contains the name of a metric type, {word}"
    suffix = next((suffix for suffix in _OF_HISTOGRAMS if name.endswith(suffix)), None)
    if suffix is not None:
        yield f"'{name}' ends with {suffix}, which is reserved for histograms"
