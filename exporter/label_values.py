"""The values of labels: valid texts, the names of enum values, and a limit on the number of a gauge's series."""

from collections.abc import Iterable, Mapping

from exporter.metric import Family

# Longer label values are cut, because users of the platform may choose long names.
LABEL_VALUE_LIMIT = 1024
# What `enum_name` returns for a value without a name.
UNKNOWN = "unknown"


def label_value(text: str) -> str:
    """Convert any text to a valid label value: no NUL, no lone surrogate, at most `LABEL_VALUE_LIMIT` characters.

    The exposition formats require UTF-8, and Prometheus's parser treats a NUL as the end of the input.
    """
    if not text.isascii() or "\0" in text:
        text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text if len(text) <= LABEL_VALUE_LIMIT else text[: LABEL_VALUE_LIMIT - 1] + "…"


def enum_name(value: int | None, names: Mapping[int, str]) -> str | None:
    """Return the name of an enum value; `unknown` for a value without a name, None for None."""
    return None if value is None else names.get(value, UNKNOWN)


def limit_gauges(families: Iterable[Family], limit: int) -> tuple[tuple[Family, ...], dict[str, int]]:
    """Keep at most `limit` series in each family with `is_limited`: the first series in the order of the label values.

    Returns:
        The families, and the name of a shortened family → the number of series that are left out.
    """
    result = list[Family]()
    left_out = dict[str, int]()
    for info, samples in families:
        kept = samples
        if info.is_limited and len(samples) > limit:
            left_out[info.name] = len(samples) - limit
            # Sorted, so that the choice does not depend on the order of an answer.
            kept = tuple(sorted(samples)[:limit])
        result.append(Family(info, kept))
    return tuple(result), left_out
