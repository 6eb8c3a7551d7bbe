"""The ids and names of resources, and a search for resources by a part of their names."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from exporter.sandbox.seed import seed

_LARGEST_ID: Final = 2**63 - 1
_READABLE_RESULTS: Final = 10_000
_LARGEST_PAGE: Final = 1_000


class ResourceIds:
    """The ids and names of one kind of resource.

    `place`, `require`, `name`, `remove` and `rename` raise KeyError for an unknown id.

    Args:
        first_id: the id of the first resource; the next resources have the following ids.
        count: the number of resources at the beginning.
        names: the names of the first resources; further names are generated.
        suffix: the end of the given and the generated names.
    """

    def __init__(self, first_id: int, count: int, names: Sequence[str], suffix: str = "") -> None:
        self._first_id = first_id
        self._names: dict[int, str] = {}
        for place in range(count):
            name = names[place] if place < len(names) else _generated_name(place)
            self._names[first_id + place] = name + suffix
        self._last_id = first_id + count - 1

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __contains__(self, resource_id: object) -> bool:
        return resource_id in self._names

    def slice(self, start: int, size: int) -> list[int]:
        """Return up to `size` ids, after leaving out the first `start` ids."""
        first = min(start, len(self._names))  # `islice` refuses the very large numbers of some requests
        return list(islice(self._names, first, first + size))

    def place(self, resource_id: int) -> int:
        """Return the difference between an id and `first_id`."""
        return self.require(resource_id) - self._first_id

    def require(self, resource_id: int) -> int:
        """Return the id if a resource has it."""
        if resource_id not in self._names:
            raise KeyError(resource_id)
        return resource_id

    def name(self, resource_id: int) -> str:
        """Return a resource's name."""
        return self._names[resource_id]

    def add(self, name: str, resource_id: int | None = None) -> int:
        """Add a resource, and return its id; None takes a new id. Raises ValueError if the id cannot be used."""
        new_id = self._last_id + 1 if resource_id is None else resource_id
        if not 0 < new_id <= _LARGEST_ID:
            raise ValueError(f"{new_id} is not an id: must be from 1 to {_LARGEST_ID}")
        if new_id in self._names:
            raise ValueError(f"{new_id} already exists")
        self._last_id = max(self._last_id, new_id)
        self._names[new_id] = name
        return new_id

    def remove(self, resource_id: int) -> None:
        """Remove a resource."""
        del self._names[resource_id]

    def rename(self, resource_id: int, name: str) -> None:
        """Give a resource another name."""
        self._names[self.require(resource_id)] = name


def _generated_name(place: int) -> str:
    """Return a name such as `dev-shop-14`, which consists of a stage, a word and the place."""
    stages, words = seed("names", "stages"), seed("names", "words")
    stage, word = stages[place % len(stages)], words[place // len(stages) % len(words)]
    return f"{stage}-{word}-{place}"


def find(kinds: Mapping[str, ResourceIds], term: str, start: int, size: int) -> dict[str, Any]:
    """Return a page of the resources whose names contain a term, as the platform sends it; case does not matter.

    A page has at most 1,000 results. Only the first 10,000 results can be read; `Total` counts all results.
    """
    wanted = term.lower()
    results = [
        {"Type": kind, "Id": resource_id, "Name": ids.name(resource_id)}
        for kind, ids in kinds.items()
        for resource_id in ids
        if wanted in ids.name(resource_id).lower()
    ]
    end = min(start + min(size, _LARGEST_PAGE), _READABLE_RESULTS)
    return {"Query": term, "Total": len(results), "From": start, "Size": size, "SearchResults": results[start:end]}
