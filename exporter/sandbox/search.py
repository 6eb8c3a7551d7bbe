"""Global search: every resource of the account by a part of its name."""

import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from exporter.sandbox.resource_ids import Roster

DEFAULT_SIZE: Final = 20
DEEPEST: Final = 10_000
_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class Found:
    """One search result."""

    resource_type: str
    resource_id: int
    name: str


class Search:
    """Finds resources whose names contain a term, in upper or lower case; by default, an empty term finds all.

    Results beyond the first 10,000 cannot be read, though the total counts them.
    """

    def __init__(self, rosters: Sequence[tuple[str, Roster]]) -> None:
        self._rosters = tuple(rosters)
        self._matches: dict[str, tuple[int, array[int]]] = {}
        self.empty_finds_all = True
        self.largest_page = 1_000

    def find(self, term: str, start: int, size: int) -> tuple[int, list[Found]]:
        """Return the number of results, and those of a page."""
        if not term:
            total = sum(len(roster) for _, roster in self._rosters) if self.empty_finds_all else 0
            places: Sequence[int] = range(total)
        else:
            places = self._matching(term.lower())
            total = len(places)
        end = min(start + min(size, self.largest_page), DEEPEST)
        return total, self._results(places[start : max(start, end)])

    def answer(self, term: str, start: int, size: int) -> bytes:
        """Return a page of results as the platform sends it."""
        total, found = self.find(term, start, size)
        rows = [{"Type": one.resource_type, "Id": one.resource_id, "Name": one.name} for one in found]
        page = {"Query": term, "Total": total, "From": start, "Size": size, "SearchResults": rows}
        return json.dumps(page, separators=(",", ":")).encode()

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

    def _results(self, places: Sequence[int]) -> list[Found]:
        results = []
        for place in places:
            left = place
            for resource_type, roster in self._rosters:
                if left < len(roster):
                    resource_id = roster.slice(left, 1)[0]
                    results.append(Found(resource_type, resource_id, roster.name(resource_id)))
                    break
                left -= len(roster)
        return results
