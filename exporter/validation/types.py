"""Validates single values of a configuration; each `parse_…` function raises ValueError if its argument is wrong."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from exporter.untrusted.patterns import Pattern, PatternError

_UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
# One or more numbers with units: each unit at most once, longer units before shorter ones.
_DURATION = re.compile(
    r"(?=\d)(?:(?P<w>\d+)w)?(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+)ms)?",
    re.ASCII,
)
_YEAR = 365 * 86_400.0
_LISTEN = re.compile(
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[^\s/:@\[\]]*)):(?P<port>[0-9]{1,5})", re.ASCII
)
_HIGHEST_PORT = 65_535
LARGEST_ID = 2**63 - 1  # the platform's ids have 64 bits
# Control characters, and the surrogates that Python has in place of non-UTF-8 bytes of an environment variable.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ROUTE_PREFIX = re.compile(r"/[A-Za-z0-9._~/-]*")
# Prometheus reserves labels that start with two underscores.
_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
# An '@' is not allowed: in user:password@host, a parser could mistake a part of the password for the host.
_URL = re.compile(
    r"(?P<scheme>[a-z]+)://"
    r"(?P<host>\[[0-9a-f:.]+\]|[^\x00-\x20\x7f-\xa0/?#@:%\[\]\\]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/[^\x00-\x20\x7f-\xa0\ud800-\udfff?#@%]*)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The address to listen on; an empty host means every address of the machine."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as `10s`, `1h30m` or `500ms`."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a duration with its unit, such as 30s, 5m or 1h30m")
    return sum(float(amount) * _UNITS[unit] for unit, amount in match.groupdict().items() if amount is not None)


def format_duration(seconds: float) -> str:
    """Return seconds, rounded to milliseconds, in the notation of the configuration: `1h30m`."""
    milliseconds = round(seconds * 1000)
    text = ""
    for unit in ("d", "h", "m", "s", "ms"):
        amount, milliseconds = divmod(milliseconds, round(_UNITS[unit] * 1000))
        text += f"{amount}{unit}" if amount else ""
    return text or "0s"


def _seconds_validator(least: float, most: float = _YEAR) -> Callable[[object], float]:
    def validate(value: object) -> float:
        seconds = value if isinstance(value, int | float) else parse_duration(str(value))
        if not least <= seconds <= most:
            raise ValueError(f"expected a duration from {format_duration(least)} to {format_duration(most)}")
        return float(seconds)

    return validate


def parse_listen(value: object) -> ListenAddress:
    """Validate an address to listen on: `host:port`, `[::1]:9877` or `:9877`."""
    # In a URL, the zone of an address is written as in `fe80::2%25eth0`, elsewhere as in `fe80::2%eth0`.
    found = _LISTEN.fullmatch(value.strip().replace("%25", "%", 1)) if isinstance(value, str) else None
    if found is None or int(found["port"]) > _HIGHEST_PORT:
        raise ValueError(f"expected host:port, [::1]:9877 or :9877, with a port up to {_HIGHEST_PORT}")
    return ListenAddress(found["ipv6"] or found["host"], int(found["port"]))


def parse_url(value: str, schemes: Collection[str], example: str) -> str:
    """Validate the address of a server, and return the address without slashes at the end."""
    found = _URL.fullmatch(value.strip())
    is_host_valid = found is not None and _can_be_looked_up(found["host"])
    # A URL without a port is valid: the scheme has a default port.
    is_port_valid = found is not None and 1 <= int(found["port"] or 1) <= _HIGHEST_PORT
    if found is None or found["scheme"].lower() not in schemes or not is_host_valid or not is_port_valid:
        # The error does not show the address, because a part of it may be a secret.
        beginnings = " or ".join(f"{scheme}://" for scheme in schemes)
        limits = f"begins with {beginnings}, has a valid host and port, and no user, query, fragment or percent sign"
        raise ValueError(f"cannot be used; expected a URL such as {example} that {limits}")
    return value.strip().rstrip("/")


def _can_be_looked_up(host: str) -> bool:
    try:
        _ = IPv6Address(host[1:-1]) if host.startswith("[") else host.encode("idna")
    except ValueError:
        return False
    return True


def _http_url(example: str) -> AfterValidator:
    return AfterValidator(lambda value: parse_url(value, ("https", "http"), example))


def parse_text(value: str) -> str:
    """Validate text of one line that is not blank, and return the text without white space at both ends."""
    text = value.strip()
    if not text or _CONTROL.search(text):
        raise ValueError("expected one line of UTF-8 text that is not blank and has no control characters")
    return text


def parse_label_name(value: str) -> str:
    """Validate the name of a label."""
    if not _LABEL_NAME.fullmatch(value):
        raise ValueError("expected a label name of letters, digits and '_' that starts with neither a digit nor '__'")
    return value


def parse_pattern(value: object) -> Pattern:
    """Validate a regular expression."""
    if not isinstance(value, str) or not value:
        raise ValueError("expected a regular expression")
    try:
        return Pattern(value)
    except PatternError as error:
        raise ValueError(f"expected a regular expression ({error})") from None


def parse_path(value: object) -> Path:
    """Validate the name of a file."""
    if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
        raise ValueError("expected the name of a file")
    return Path(value)


def parse_route_prefix(value: str) -> str:
    """Validate a path that starts with a slash, and return the path without a slash at the end; `/` stays `/`."""
    # Clients and proxies shorten `//`, `/.` and `/..` in a path, so such a prefix would not match.
    if not _ROUTE_PREFIX.fullmatch(value) or "//" in value or "/." in value:
        raise ValueError("expected a path such as / or /edge")
    return value.rstrip("/") or "/"


# The text after a type, such as "DURATION", is the placeholder of the value in the help of flags.
Text = Annotated[str, AfterValidator(parse_text)]
Identifier = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Interval = Annotated[float, BeforeValidator(_seconds_validator(1.0)), "DURATION"]
LeaseLength = Annotated[float, BeforeValidator(_seconds_validator(5.0, 86_400.0)), "DURATION"]
OptionalInterval = Annotated[Interval | None, "DURATION"]
Timeout = Annotated[float, BeforeValidator(_seconds_validator(0.1, 600.0)), "DURATION"]
Retention = Annotated[float, BeforeValidator(_seconds_validator(1.0, 100 * _YEAR)), "DURATION"]
BaseUrl = Annotated[str, _http_url("https://api.example.net"), "URL"]
OptionalUrl = Annotated[Annotated[str, _http_url("https://grafana.example.net")] | None, "URL"]
PatternField = Annotated[Pattern, PlainValidator(parse_pattern)]
FilePath = Annotated[Annotated[Path, BeforeValidator(parse_path)] | None, "FILE"]
Listen = Annotated[ListenAddress, PlainValidator(parse_listen), "HOST:PORT"]
RoutePrefix = Annotated[str, AfterValidator(parse_route_prefix), "PATH"]
