"""Combines the parts of queries: aggregations, ratios and joins."""

# A variable for a number.
TOP = "$top"


def total(expr: str, *labels: str) -> str:
    """Sum by labels, or to one number."""
    return _aggregate("sum", expr, labels)


def highest(expr: str, *labels: str) -> str:
    """Take the maximum by labels, or of all."""
    return _aggregate("max", expr, labels)


def lowest(expr: str, *labels: str) -> str:
    """Take the minimum by labels, or of all."""
    return _aggregate("min", expr, labels)


def count(expr: str, *labels: str) -> str:
    """Count series by labels, or all of them."""
    return _aggregate("count", expr, labels)


def among_all(found: str, every: str) -> str:
    """Count the series that are found: 0 if `every` has others only, and no result if it has none."""
    return f"count({found}) or 0 * count({every})"


def top(expr: str, limit: int | str = TOP) -> str:
    """Take the series of the largest values."""
    return f"topk({limit}, {expr})"


def bottom(expr: str, limit: int | str = TOP) -> str:
    """Take the series of the smallest values."""
    return f"bottomk({limit}, {expr})"


def among(expr: str, ranking: str, *labels: str) -> str:
    """Keep the series of `expr` whose labels `ranking` has, too."""
    return f"({expr}) and on ({', '.join(labels)}) {ranking}"


def ratio(part: str, whole: str, *labels: str) -> str:
    """Divide by values above zero, matched on labels; additional labels of the left side are kept."""
    return f"{part} / on ({', '.join(labels)}) group_left () ({whole} > 0)"


def with_label(expr: str, source: str, label: str, *on: str) -> str:
    """Add a label of an info metric with the same labels; series without a match are kept unchanged."""
    matched = f"on ({', '.join(on)})"
    named = highest(source, *on, label)
    return f"({expr}) * {matched} group_left ({label}) {named} or ({expr}) unless {matched} {named}"


def milliseconds(expr: str) -> str:
    """Convert a time in seconds to milliseconds, for Grafana's date units."""
    return f"1000 * {expr}"


def _aggregate(operator: str, expr: str, labels: tuple[str, ...]) -> str:
    return f"{operator} by ({', '.join(labels)}) ({expr})" if labels else f"{operator}({expr})"
