"""Global search: every resource of the account by a part of its name."""

from array import array
from collections.abc import Sequence
from typing import Any, Final

from exporter.sandbox.resource_ids import Roster

DEFAULT_SIZE: Final = 20
DEEPEST: Final = 10_000
_REMEMBERED: Final = 64


class Search:
    """Finds resources whose names contain a term, in upper or lower case; an empty term finds all.

    Results beyond the first 10,000 cannot be read, though the total counts them.
    """

    def __init__(self, rosters: Sequence[tuple[str, Roster]]) -> None:
        self._rosters = tuple(rosters)
        self._matches: dict[str, tuple[int, array[int]]] = {}
        self.largest_page = 1_000

    def answer(self, term: str, start: int, size: int) -> dict[str, Any]:
        """Return a page of results as the platform sends it."""
        if not term:
            places: Sequence[int] = range(sum(len(roster) for _, roster in self._rosters))
        else:
            places = self._matching(term.lower())
        end = min(start + min(size, self.largest_page), DEEPEST)
        found = self._results(places[start : max(start, end)])
        return {"Query": term, "Total": len(places), "From": start, "Size": size, "SearchResults": found}

    def _matching(self, term: str) -> "array[int]":
        version = sum(roster.version for _, roster in self._rosters)
        known = self._matches.get(term)
        if known is not None and known[0] == version:
            return known[1]
        names = (roster.name(resource_id) for _, roster in self._rosters for resource_id in roster)
        matches = array("q", (place for place, name in enumerate(names) if term in name.lower()))
        if len(self._matches) >= _REMEMBERED:
            self._matches.clear()
        self._matches[term] = (version, matches)
        return matches

    def _results(self, places: Sequence[int]) -> list[dict[str, Any]]:
        results = []
        for place in places:
            left = place
            for resource_type, roster in self._rosters:
                if left < len(roster):
                    resource_id = roster.slice(left, 1)[0]
                    results.append({"Type": resource_type, "Id": resource_id, "Name": roster.name(resource_id)})
                    break
                left -= len(roster)
        return results
