"""How an enum is exposed: a series for each of its values, of which one is 1."""

from collections.abc import Mapping

from exporter.platform.wire import UNKNOWN, known


def one_hot(value: int | None, names: Mapping[int, str]) -> dict[str, float]:
    """1 for the name of an enum value and 0 for the others; nothing where there is no value."""
    current = known(value, names)
    return {} if current is None else {name: float(name == current) for name in (*names.values(), UNKNOWN)}
