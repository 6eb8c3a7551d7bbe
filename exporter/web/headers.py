"""What the headers of a request accept (RFC 9110, section 12), and the security headers of each answer."""

from collections.abc import Collection, Iterable
from functools import lru_cache

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from exporter.exposition.exposition import Format

_OPENMETRICS = "application/openmetrics-text"
# The media ranges that match the text format, the most specific first: the first one that is present decides.
_TEXT = ("text/plain", "text/*", "*/*")
_GZIP = ("gzip", "x-gzip", "*")

MOST_REMEMBERED = 64

# What a browser may load and do with an answer; only pages load anything.
_POLICY = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    b"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
ALWAYS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def _qualities(header: str) -> dict[str, float]:
    """Return the quality of each value of a header; OpenMetrics counts only in its version 1.0.0."""
    best: dict[str, float] = {}
    # White space and quotes have no meaning in the values that are served.
    for part in "".join(header.lower().replace('"', "").split()).split(","):
        value, *pairs = part.split(";")
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if value != _OPENMETRICS or parameters.get("version", "1.0.0") == "1.0.0":
            best[value] = max(best.get(value, 0.0), _quality(parameters.get("q", "1")))
    return best


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def accepted(headers: Collection[tuple[bytes, bytes]]) -> tuple[Format, bool]:
    """Return the format that the headers of a request prefer, and whether they accept gzip."""
    accept, encoding = (
        b",".join(value for name, value in headers if name == wanted).decode("latin-1")
        for wanted in (b"accept", b"accept-encoding")
    )
    return choose_format(accept), accepts_gzip(encoding)


# A scraper sends the same headers each time.
@lru_cache(maxsize=MOST_REMEMBERED)
def choose_format(accept: str) -> Format:
    """Choose OpenMetrics if `Accept` names it with a quality not below that of text."""
    qualities = _qualities(accept)
    of_openmetrics = qualities.get(_OPENMETRICS, 0.0)
    of_text = next((qualities[name] for name in _TEXT if name in qualities), 0.0)
    return Format.OPENMETRICS if of_openmetrics > 0 and of_openmetrics >= of_text else Format.TEXT


@lru_cache(maxsize=MOST_REMEMBERED)
def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the client accepts gzip."""
    qualities = _qualities(accept_encoding)
    return next((qualities[name] > 0 for name in _GZIP if name in qualities), False)


def with_headers(send: Send, headers: Iterable[tuple[bytes, bytes]] = ALWAYS) -> Send:
    """Return a `send` that also sets these headers; a header that the answer has already is replaced."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = MutableHeaders(scope=message)
            for name, value in headers:
                own[name.decode()] = value.decode()
        await send(message)

    return send_with_headers
