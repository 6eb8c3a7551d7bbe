"""Global search: every resource of the account by a part of its name."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

from exporter.sandbox.resource_ids import ResourceIds

_DEEPEST: Final = 10_000
_LARGEST_PAGE: Final = 1_000
_REMEMBERED: Final = 64


class Search:
    """Finds resources whose names contain a term, in upper or lower case; an empty term finds all.

    Results beyond the first 10,000 cannot be read, though the total counts them.
    """

    def __init__(self, kinds: Sequence[tuple[str, ResourceIds]]) -> None:
        self._kinds = tuple(kinds)
        self._matches: dict[str, tuple[int, array[int]]] = {}

    def answer(self, term: str, start: int, size: int) -> dict[str, Any]:
        """Return a page of results as the platform sends it."""
        if not term:
            places: Sequence[int] = range(sum(len(ids) for _, ids in self._kinds))
        else:
            places = self._matching(term.lower())
        end = min(start + min(size, _LARGEST_PAGE), _DEEPEST)
        found = list(self._results(places[start : max(start, end)]))
        return {"Query": term, "Total": len(places), "From": start, "Size": size, "SearchResults": found}

    def _matching(self, term: str) -> "array[int]":
        version = sum(ids.version for _, ids in self._kinds)
        known = self._matches.get(term)
        if known is not None and known[0] == version:
            return known[1]
        names = (ids.name(resource_id) for _, ids in self._kinds for resource_id in ids)
        matches = array("q", (place for place, name in enumerate(names) if term in name.lower()))
        if len(self._matches) >= _REMEMBERED:
            self._matches.clear()
        self._matches[term] = (version, matches)
        return matches

    def _results(self, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        for place in places:
            left = place
            for resource_type, ids in self._kinds:
                if left < len(ids):
                    (resource_id,) = ids.slice(left, 1)
                    yield {"Type": resource_type, "Id": resource_id, "Name": ids.name(resource_id)}
                    break
                left -= len(ids)
