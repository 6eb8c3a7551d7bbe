"""Access lists of shield zones: their entries, and the switches of their configurations."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.noise import Noise
from exporter.sandbox.timestamps import DAY, day_number, iso_long, iso_naive

_SIZE, _ENABLED, _ENTRY = range(1, 4)
_NAMES: Final = ("blocked-networks", "office-networks")
_CONFIGURATIONS: Final = 100
_WITH_NULLS: Final = 9


@dataclass(slots=True)
class AccessList:
    """A custom access list, and the configuration that switches it."""

    list_id: int
    shield_zone_id: int
    name: str
    is_enabled: bool
    added: list[str] = field(default_factory=list)
    modified: float | None = None

    @property
    def configuration_id(self) -> int:
        """The id of the list's configuration, which differs from the list's id."""
        return _CONFIGURATIONS + self.list_id


class AccessLists:
    """The account's custom access lists, two for each shield zone; the first grows daily, except in a healthy world."""

    def __init__(self, noise: Noise, clock: WorldClock, shield_zones: int, *, healthy: bool = False) -> None:
        self._healthy = healthy
        self._noise = noise
        self._clock = clock
        self._lists: dict[int, AccessList] = {}
        for zone in range(1, shield_zones + 1):
            for place, name in enumerate(_NAMES):
                list_id = 3 * zone + 2 + place
                self._lists[list_id] = AccessList(list_id, zone, name, noise.chance(0.7, _ENABLED, list_id))

    def lists(self) -> list[AccessList]:
        """Return all lists."""
        return list(self._lists.values())

    def add_entry(self, access_list_id: int, entry: str) -> None:
        """Add an entry to a list."""
        found = self._lists[access_list_id]
        found.added.append(entry)
        found.modified = self._clock.now()

    def find(self, shield_zone_id: int, list_id: int) -> AccessList | None:
        """Return a list of a shield zone."""
        found = self._lists.get(list_id)
        return found if found is not None and found.shield_zone_id == shield_zone_id else None

    def find_configuration(self, shield_zone_id: int, configuration_id: int) -> AccessList | None:
        """Return the list of a shield zone that a configuration switches."""
        return self.find(shield_zone_id, configuration_id - _CONFIGURATIONS)

    def answer(self, found: AccessList) -> dict[str, Any]:
        """Return a list as the platform sends it."""
        content = "\n".join(self._entries(found))
        modified = self._modified(found)
        write = iso_naive if found.list_id % 2 else iso_long
        has_nulls = found.list_id == _WITH_NULLS
        return {
            "id": found.list_id,
            "name": found.name,
            "description": None
            if has_nulls
            else f"The {found.name.replace('-', ' ')} of shield zone {found.shield_zone_id}",
            "content": content,
            "checksum": hashlib.sha256(content.encode()).hexdigest(),
            "entryCount": None if has_nulls else len(self._entries(found)),
            "lastModified": None if has_nulls else write(modified),
        }

    def _grows(self, found: AccessList) -> bool:
        return found.name == _NAMES[0] and not self._healthy

    def _entries(self, found: AccessList) -> list[str]:
        size = self._noise.whole(8, 60, _SIZE, found.list_id)
        if self._grows(found):
            size += day_number(self._clock.now()) % 30
        drawn = (self._noise.number(_ENTRY, found.list_id, n) for n in range(size))
        return [f"198.51.{number >> 8 & 255}.{number & 255}/32" for number in drawn] + found.added

    def _modified(self, found: AccessList) -> float:
        now = self._clock.now()
        seeded = (day_number(now) - (0 if self._grows(found) else 30)) * DAY
        return float(seeded) if found.modified is None else max(found.modified, 0.0)
