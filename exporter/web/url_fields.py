"""Reads the query of a URL: its fields and their values."""

from collections.abc import Collection, Mapping
from typing import Any

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

# An object that is sent as JSON, or shown on a page.
Json = dict[str, Any]


def read_fields(query: QueryParams, allowed: Mapping[str, Collection[str] | None]) -> dict[str, tuple[str, ...]]:
    """Return allowed field → the field's values in the query: stripped, without empty values and duplicates.

    `allowed` maps a field to its allowed values, or to None if the values are not limited.

    Raises:
        HTTPException: the query has another field, or another value of a field (400).
    """
    for name in query:
        if name not in allowed:
            raise HTTPException(400, f"there is no parameter {name[:50]!r}; there are: {', '.join(allowed)}")
    found: dict[str, tuple[str, ...]] = {}
    for name, choices in allowed.items():
        given = map(str.strip, query.getlist(name))
        found[name] = tuple(dict.fromkeys(value for value in given if value))
        for value in found[name]:
            if choices is not None and not choices:
                raise HTTPException(400, f"{name} must be left out: there is no {name} to choose")
            if choices is not None and value not in choices:
                raise HTTPException(400, f"{name} must be one of {', '.join(choices)}, not {value[:100]!r}")
    return found
