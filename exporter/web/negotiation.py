"""Content negotiation (RFC 9110, section 12): the exposition's format, and gzip."""

from collections.abc import Iterator
from functools import lru_cache

from exporter.exposition.exposition import Format

_OPENMETRICS = "application/openmetrics-text"
# The media ranges that match the text format, the most specific first: the first one that is present decides.
_TEXT = ("text/plain", "text/*", "*/*")
_GZIP = ("gzip", "x-gzip", "*")

MOST_REMEMBERED = 64


def _preferences(header: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for part in header.split(","):
        value, *raw = (piece.strip() for piece in part.split(";"))
        pairs = (piece.lower().partition("=") for piece in raw)
        parameters = {name.strip(): text.strip().strip('"') for name, _, text in pairs}
        yield value.lower(), parameters, _quality(parameters.get("q", "1"))


def _quality(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0


# A scraper sends the same headers each time; caching their meaning saves a tenth of a small scrape's time.
@lru_cache(maxsize=MOST_REMEMBERED)
def choose_format(accept: str) -> Format:
    """Choose OpenMetrics if `Accept` names its version 1.0.0 with a quality not below that of text."""
    best: dict[str, float] = {}
    for value, parameters, quality in _preferences(accept):
        if value != _OPENMETRICS or parameters.get("version", "1.0.0") == "1.0.0":
            best[value] = max(best.get(value, 0.0), quality)
    wanted = best.get(_OPENMETRICS, 0.0)
    text = next((best[name] for name in _TEXT if name in best), 0.0)
    return Format.OPENMETRICS if wanted > 0 and wanted >= text else Format.TEXT


@lru_cache(maxsize=MOST_REMEMBERED)
def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the client accepts gzip."""
    qualities = {value: quality for value, _, quality in _preferences(accept_encoding)}
    return next((qualities[name] > 0 for name in _GZIP if name in qualities), False)
