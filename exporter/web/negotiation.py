"""Chooses the format and the encoding of an answer by `Accept` and `Accept-Encoding` (RFC 9110, section 12)."""

from collections.abc import Collection
from functools import lru_cache

from exporter.exposition.exposition import Format

_OPENMETRICS = "application/openmetrics-text"
# The values of headers that match the text format or gzip. Of several in a header, the first in this order decides.
_TEXT = ("text/plain", "text/*", "*/*")
_GZIP = ("gzip", "x-gzip", "*")

# The most results that a cache keeps.
MOST_REMEMBERED = 64


def _qualities(header: str) -> dict[str, float]:
    """Return value → highest quality in a header, 0 if unreadable. OpenMetrics in other versions is left out."""
    best: dict[str, float] = {}
    # White space and quotes are removed: they have no meaning in the values that this module knows.
    for part in "".join(header.lower().replace('"', "").split()).split(","):
        value, *pairs = part.split(";")
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        is_other_version = value == _OPENMETRICS and parameters.get("version", "1.0.0") != "1.0.0"
        if not is_other_version:
            best[value] = max(best.get(value, 0.0), _quality(parameters.get("q", "1")))
    return best


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def negotiate(headers: Collection[tuple[bytes, bytes]]) -> tuple[Format, bool]:
    """Return the format that a client prefers, and whether the client accepts gzip, by the request's headers."""
    accept, encoding = (
        b",".join(value for name, value in headers if name == wanted).decode("latin-1")
        for wanted in (b"accept", b"accept-encoding")
    )
    return choose_format(accept), accepts_gzip(encoding)


# Cached, because the headers of a scraper rarely change.
@lru_cache(maxsize=MOST_REMEMBERED)
def choose_format(accept: str) -> Format:
    """Choose OpenMetrics if its quality in `Accept` is above 0 and not below the quality of text; else choose text."""
    qualities = _qualities(accept)
    of_openmetrics = qualities.get(_OPENMETRICS, 0.0)
    of_text = next((qualities[name] for name in _TEXT if name in qualities), 0.0)
    return Format.OPENMETRICS if of_openmetrics > 0 and of_openmetrics >= of_text else Format.TEXT


@lru_cache(maxsize=MOST_REMEMBERED)
def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the client accepts gzip."""
    qualities = _qualities(accept_encoding)
    return next((qualities[name] > 0 for name in _GZIP if name in qualities), False)
