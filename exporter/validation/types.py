"""Validates single values of the settings: durations, addresses, URLs, patterns, paths and names."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from pydantic import BeforeValidator, Field, PlainSerializer, PlainValidator
from pydantic_core import InitErrorDetails

from exporter.foreign.patterns import Pattern, PatternError
from exporter.foreign.regular_file import check_regular, unreadable
from exporter.platform.http.mask import MASK, is_ambiguous
from exporter.validation.faults import KeyPath
from exporter.validation.section import at, expected, refused

_UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = re.compile(
    r"(?=[\d.])(?:(?P<w>\d+)w)?(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+)ms)?",
    re.ASCII,
)
_NO_UNIT = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_MOST_DIGITS = 15
_HIGHEST_PORT = 65_535
LARGEST_ID = 2**63 - 1
# Control characters, and the surrogates by which Python represents bytes of a variable that are not UTF-8.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_PREFIX = re.compile(r"/[A-Za-z0-9._~/-]*")
_PASSWORD = re.compile(r"(?<=://)[^/@]*@")
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_YEAR = 365 * 86_400.0
_AMBIGUOUS = "contains an ambiguous '@'; percent-encode the password (@ as %40, / as %2F, ? as %3F, # as %23)"
_NO_CHARACTER = re.compile(r"%(?:00|(?![0-9A-Fa-f]{2}))")
_UNDECODABLE = "contains a % that begins no percent-encoded character of UTF-8; expected %25 for the % itself"


@dataclass(frozen=True, slots=True)
class Metavar:
    """The placeholder for a value in the help text of its flag."""

    text: str


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The address to listen on; an empty host means every address of the machine."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_duration(text: str) -> float | None:
    """Return the seconds of `10s`, `5m`, `1h30m`, `1d`, `500ms` or `0`; None for anything else."""
    text = text.strip()
    if not text or len(text) > _MOST_DIGITS * 2:
        return None
    if _NO_UNIT.fullmatch(text):
        return None if float(text) else 0.0
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    return sum(float(amount) * _UNITS[unit] for unit, amount in match.groupdict().items() if amount is not None)


def format_duration(seconds: float) -> str:
    """Return seconds in the notation of the configuration: `1h30m`."""
    milliseconds = round(seconds * 1000)
    text = ""
    for unit in ("d", "h", "m", "s", "ms"):
        amount, milliseconds = divmod(milliseconds, round(_UNITS[unit] * 1000))
        text += f"{amount}{unit}" if amount else ""
    return text or "0s"


def stale_too_early(path: KeyPath, interval: object, stale_after: object) -> Iterator[InitErrorDetails]:
    """Refuse a `stale_after` that ends before a target is polled again; `path` is the section's place."""
    polled, stale = (
        parse_duration(value) if isinstance(value, str) else float(value) if isinstance(value, int | float) else None
        for value in (interval, stale_after)
    )
    if polled is not None and stale is not None and stale < polled:
        message = f"found {format_duration(stale)}, expected at least the interval ({format_duration(polled)})"
        yield at((*path, "stale_after"), refused(message))


def _duration(least: float, most: float = _YEAR) -> Callable[[object], float]:
    def validate(value: object) -> float:
        if isinstance(value, str):
            seconds = parse_duration(value)
            if seconds is None and _NO_UNIT.fullmatch(number := value.strip()):
                raise expected(f"a duration with its unit: {number}s, {number}m or {number}h")
        else:
            seconds = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        if seconds is None:
            raise expected("a duration such as 30s, 5m or 1h30m")
        if not seconds >= least:
            raise expected(f"at least {format_duration(least)}")
        if seconds > most:
            raise expected(f"at most {format_duration(most)}")
        return seconds

    return validate


def parse_listen(value: object) -> ListenAddress:
    """Validate an address to listen on: `host:port`, `[::1]:9877` or `:9877`."""
    if isinstance(value, ListenAddress):
        return value
    what = "host:port, [::1]:9877 or :9877"
    if not isinstance(value, str):
        raise expected(what)
    host, colon, port = value.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]") and ":" in host:
        # The zone of an address, as in URLs (`fe80::2%25eth0`) and as elsewhere (`fe80::2%eth0`).
        host = host[1:-1].replace("%25", "%", 1)
    elif not colon or ":" in host or re.search(r"[\s/\[\]@]", host):
        raise expected(what)
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > _HIGHEST_PORT:
        raise expected(f"a port from 0 to {_HIGHEST_PORT} after the ':'")
    return ListenAddress(host, int(port))


def url_problem(value: str) -> str:
    """Return why a part of a URL could be taken for another one, without showing it; empty if none can."""
    if is_ambiguous(value):
        return _AMBIGUOUS
    return _UNDECODABLE if _NO_CHARACTER.search(value) or "\ufffd" in unquote(value) else ""


def split_url(value: object, schemes: dict[str, str], example: str) -> SplitResult:
    """Split a URL with one of the schemes, and replace its scheme by the one it maps to.

    Errors show no part of the URL, which may contain a password or a token anywhere.
    """
    if not isinstance(value, str) or "://" not in value or _CONTROL.search(value) or " " in value.strip():
        raise refused(f"is not a URL; expected one such as {example}")
    if problem := url_problem(value):
        raise refused(problem)
    try:
        parts = urlsplit(value.strip())
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise refused(f"is not a URL; expected one such as {example}") from None
    if parts.scheme not in schemes:
        raise refused(f"has another scheme; expected one of {', '.join(schemes)}")
    if not host:
        raise refused(f"names no host; expected a URL such as {example}")
    return parts._replace(scheme=schemes[parts.scheme])


def parse_base_url(value: object) -> str:
    """Validate a platform's address and return it without a slash at its end."""
    parts = split_url(value, {"https": "https", "http": "http"}, "https://api.example.net")
    if parts.username is not None:
        raise refused(
            "contains a user name or a password; expected a URL without, and the key in api_key or api_key_file"
        )
    if parts.query or parts.fragment:
        raise refused("contains a query or a fragment; expected a URL without")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/")))


def parse_proxy(value: object) -> str:
    """Validate a proxy's address, which may contain a user name and a password."""
    parts = split_url(value, {"http": "http", "https": "https"}, "http://proxy.example.net:3128")
    if parts.query or parts.fragment or parts.path.strip("/"):
        raise refused("contains more than a host and a port; expected a URL such as http://proxy.example.net:3128")
    return urlunsplit(parts._replace(path=""))


def parse_text(value: object) -> str:
    """Validate text of one line and return it without white space around it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise expected("text")
    text = value.strip()
    if not text:
        raise refused("is empty; expected text")
    if _CONTROL.search(text):
        raise refused("contains a line break or another control character; expected text of one line")
    return text


def parse_label_name(value: object) -> str:
    """Validate the name of a label."""
    if not isinstance(value, str) or not _LABEL_NAME.fullmatch(value):
        raise expected("a label name of letters, digits and '_' that does not start with a digit")
    if value.startswith("__"):
        raise refused(f"'{value}' starts with '__', which Prometheus reserves")
    return value


def parse_pattern(value: object) -> Pattern:
    """Validate a regular expression."""
    if isinstance(value, Pattern):
        return value
    if not isinstance(value, str) or not value:
        raise expected("a regular expression")
    try:
        return Pattern(value)
    except PatternError as error:
        raise expected(f"a regular expression ({error})") from None


def parse_path(value: object) -> Path:
    """Validate the name of a file."""
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise expected("a file's name")
    return Path(value)


def parse_readable_file(value: object) -> Path:
    """Validate the name of a regular file, which must exist."""
    path = parse_path(value)
    try:
        check_regular(path)
    except OSError as error:
        raise refused(f"{path} {unreadable(error)}") from None
    return path


def parse_route_prefix(value: object) -> str:
    """Validate a path that starts with a slash, and return it without one at its end, except for `/` itself."""
    if not isinstance(value, str) or not _PREFIX.fullmatch(value) or "//" in value or "/." in value:
        raise expected("a path such as / or /edge")
    return value.rstrip("/") or "/"


Text = Annotated[str, BeforeValidator(parse_text), Metavar("TEXT")]
Identifier = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Interval = Annotated[float, BeforeValidator(_duration(1.0)), Metavar("DURATION")]
LeaseLength = Annotated[float, BeforeValidator(_duration(5.0, 86_400.0)), Metavar("DURATION")]
OptionalInterval = Annotated[Interval | None, Metavar("DURATION")]
Timeout = Annotated[float, BeforeValidator(_duration(0.1, 600.0)), Metavar("DURATION")]
Retention = Annotated[float, BeforeValidator(_duration(1.0, 100 * _YEAR)), Metavar("DURATION")]
BaseUrl = Annotated[str, BeforeValidator(parse_base_url), Metavar("URL")]
_MASKED = PlainSerializer(lambda url: _PASSWORD.sub(f"{MASK}@", url), when_used="json-unless-none")
ProxyUrl = Annotated[Annotated[str, BeforeValidator(parse_proxy)] | None, _MASKED, Metavar("URL")]
PatternField = Annotated[Pattern, PlainValidator(parse_pattern), PlainSerializer(lambda pattern: pattern.pattern)]
FilePath = Annotated[Annotated[Path, BeforeValidator(parse_path)] | None, Metavar("FILE")]
ReadableFile = Annotated[Annotated[Path, BeforeValidator(parse_readable_file)] | None, Metavar("FILE")]
Listen = Annotated[ListenAddress, PlainValidator(parse_listen), PlainSerializer(str), Metavar("HOST:PORT")]
RoutePrefix = Annotated[str, BeforeValidator(parse_route_prefix), Metavar("PATH")]
