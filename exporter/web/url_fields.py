"""Reads the query of a URL: its fields and their values."""

from collections.abc import Collection, Iterable
from typing import Any

# What is sent as JSON, and shown on pages.
Json = dict[str, Any]
# The names and values of a URL's query, in their order.
Fields = Iterable[tuple[str, str]]


class QueryError(ValueError):
    """A query is wrong; the message says why."""


def read_fields(given: Fields, known: Collection[str], single: Collection[str] = ()) -> dict[str, list[str]]:
    """Group a URL's values by their fields, without empty ones; raises QueryError for an unknown or repeated field."""
    values: dict[str, list[str]] = {}
    for name, value in given:
        if name not in known:
            raise QueryError(f"there is no parameter {name[:50]!r}; there are: {', '.join(known)}")
        if value.strip():
            values.setdefault(name, []).append(value.strip())
        if name in single and len(values.get(name, ())) > 1:
            raise QueryError(f"{name} is given more than once")
    return values


def check(name: str, values: Iterable[str], allowed: Collection[str]) -> tuple[str, ...]:
    """Return a field's values without duplicates; raises QueryError for one that is not allowed."""
    wanted = tuple(dict.fromkeys(values))
    for value in wanted:
        if value not in allowed:
            raise QueryError(f"{name} cannot be {value[:100]!r}; there are: {', '.join(allowed)}")
    return wanted
