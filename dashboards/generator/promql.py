"""Combines queries by aggregations, ratios and joins; each function returns a PromQL expression."""

# The page's choice of how many series a ranking shows.
TOP = "$top"


def total(expr: str, *labels: str) -> str:
    """Sum by labels; without labels, sum all series."""
    return _aggregate("sum", expr, labels)


def highest(expr: str, *labels: str) -> str:
    """Take the maximum by labels; without labels, the maximum of all series."""
    return _aggregate("max", expr, labels)


def lowest(expr: str, *labels: str) -> str:
    """Take the minimum by labels; without labels, the minimum of all series."""
    return _aggregate("min", expr, labels)


def count(expr: str, *labels: str) -> str:
    """Count series by labels; without labels, count all series."""
    return _aggregate("count", expr, labels)


def top(expr: str, limit: int | str = TOP) -> str:
    """Take the series with the largest values."""
    return f"topk({limit}, {expr})"


def bottom(expr: str, limit: int) -> str:
    """Take the series with the smallest values."""
    return f"bottomk({limit}, {expr})"


def among(expr: str, ranking: str, *labels: str) -> str:
    """Keep the series of `expr` that have these labels in common with a series of `ranking`."""
    return f"({expr}) and on ({', '.join(labels)}) {ranking}"


def ratio(part: str, whole: str, *labels: str) -> str:
    """Divide series that have these labels in common, if the divisor is above zero; the left side's labels are kept."""
    return f"{part} / on ({', '.join(labels)}) group_left () ({whole} > 0)"


def with_label(expr: str, source: str, label: str, *on: str) -> str:
    """Add a label of the info metric `source` to the series of `expr` that have the labels `on` in common with it.

    The other series are kept unchanged.
    """
    matched = f"on ({', '.join(on)})"
    named = highest(source, *on, label)
    return f"({expr}) * {matched} group_left ({label}) {named} or ({expr}) unless {matched} {named}"


def milliseconds(expr: str) -> str:
    """Convert a unix time from seconds to milliseconds, for Grafana's date units."""
    return f"1000 * {expr}"


def _aggregate(operator: str, expr: str, labels: tuple[str, ...]) -> str:
    return f"{operator} by ({', '.join(labels)}) ({expr})" if labels else f"{operator}({expr})"
