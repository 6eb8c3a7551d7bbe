"""The ids and names of resources, and the search that finds them by a part of their names."""

from array import array
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from exporter.sandbox.seed import seed

_LARGEST_ID: Final = 2**63 - 1


def free_id(taken: Collection[int], wanted: int | None) -> int:
    """Return the wanted id, or the one after the largest of those that are taken.

    Raises:
        ValueError: the wanted id is taken.
    """
    if wanted in taken:
        raise ValueError(f"{wanted} already exists")
    return max(taken, default=0) + 1 if wanted is None else wanted


class ResourceIds:
    """The ids and names of one kind of resource; a name is only stored where a test has changed it.

    Args:
        first_id: the id of the first resource.
        count: the number of resources.
        names: the names of the first resources; names of the others are generated.
        suffix: the end of all seeded names.
    """

    def __init__(self, first_id: int, count: int, names: Sequence[str] = (), suffix: str = "") -> None:
        self._first = first_id
        self._known_names = names
        self._suffix = suffix
        self._ids = array("q", range(first_id, first_id + count))
        self._names: dict[int, str | None] = dict.fromkeys(self._ids)
        self._last = first_id + count - 1
        self.version = 0

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __contains__(self, resource_id: object) -> bool:
        return resource_id in self._names

    def slice(self, start: int, size: int) -> list[int]:
        """Return up to `size` ids, beginning at a place."""
        return self._ids[start : start + size].tolist()

    def place(self, resource_id: int) -> int:
        """Return the distance of an id from the first seeded one; it determines the resource's properties."""
        return self.known(resource_id) - self._first

    def known(self, resource_id: int) -> int:
        """Return an id.

        Raises:
            KeyError: there is no such resource.
        """
        if resource_id not in self._names:
            raise KeyError(resource_id)
        return resource_id

    def name(self, resource_id: int) -> str:
        """Return a resource's name."""
        given = self._names[resource_id]
        if given is not None:
            return given
        place = resource_id - self._first
        if place < len(self._known_names):
            return self._known_names[place] + self._suffix
        stages, words = seed("names", "stages"), seed("names", "words")
        return f"{stages[place % len(stages)]}-{words[place // len(stages) % len(words)]}-{place}{self._suffix}"

    def add(self, name: str, resource_id: int | None = None) -> int:
        """Add a resource, or bring a removed one back under a name, and return its id."""
        new_id = self._last + 1 if resource_id is None else resource_id
        if not 0 < new_id <= _LARGEST_ID:
            raise ValueError(f"{new_id} is no id")
        if new_id in self._names:
            raise ValueError(f"{new_id} already exists")
        self._last = max(self._last, new_id)
        self._ids.append(new_id)
        self._names[new_id] = name
        self.version += 1
        return new_id

    def remove(self, resource_id: int) -> None:
        """Remove a resource."""
        del self._names[resource_id]
        self._ids.remove(resource_id)
        self.version += 1

    def rename(self, resource_id: int, name: str) -> None:
        """Give a resource another name."""
        self._names[self.known(resource_id)] = name
        self.version += 1


_DEEPEST: Final = 10_000
_LARGEST_PAGE: Final = 1_000


class Search:
    """Finds resources whose names contain a term, in upper or lower case; an empty term finds all.

    Results beyond the first 10,000 cannot be read, though the total counts them.
    """

    def __init__(self, kinds: Sequence[tuple[str, ResourceIds]]) -> None:
        self._kinds = tuple(kinds)
        self._matching = lru_cache(maxsize=64)(self._match)

    def answer(self, term: str, start: int, size: int) -> dict[str, Any]:
        """Return a page of results as the platform sends it."""
        version = sum(ids.version for _, ids in self._kinds)
        everything = range(sum(len(ids) for _, ids in self._kinds))
        places = self._matching(term.lower(), version) if term else everything
        end = min(start + min(size, _LARGEST_PAGE), _DEEPEST)
        found = list(self._results(places[start : max(start, end)]))
        return {"Query": term, "Total": len(places), "From": start, "Size": size, "SearchResults": found}

    def _match(self, term: str, _version: int) -> Sequence[int]:
        """Return the places of the names that contain a term, in a version of all of them."""
        names = (ids.name(resource_id) for _, ids in self._kinds for resource_id in ids)
        return array("q", (place for place, name in enumerate(names) if term in name.lower()))

    def _results(self, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        for place in places:
            left = place
            for resource_type, ids in self._kinds:
                if left < len(ids):
                    (resource_id,) = ids.slice(left, 1)
                    yield {"Type": resource_type, "Id": resource_id, "Name": ids.name(resource_id)}
                    break
                left -= len(ids)
