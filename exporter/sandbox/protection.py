"""The protection of shield zones: bot detection, access lists, custom WAF rules and the API guardian."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from exporter.sandbox.noise import Noise
from exporter.sandbox.seed import recorded, seed
from exporter.sandbox.timestamps import DAY, day_number, iso_long, iso_naive, iso_of
from exporter.sandbox.world_clock import WorldClock

# The id of an access list's configuration is the id of the list plus this number.
CONFIG_ID_OFFSET: Final = 100

# The purposes of numbers from `Noise`. The purpose is the first of `parts`, so each purpose has independent numbers.
_SIZE, _ENABLED, _ENTRY = range(1, 4)
_RULES_OF_A_ZONE: Final = 2
_ID_OF_LIST_WITH_NULLS: Final = 9


def custom_rule_ids(shield_zone_id: int) -> list[int]:
    """Return the ids of a shield zone's custom WAF rules, which no other zone has."""
    return [7 * shield_zone_id + place for place in range(_RULES_OF_A_ZONE)]


def bot_detection(shield_zone_id: int) -> dict[str, Any]:
    """Return the bot detection of a shield zone as the platform sends it."""
    rows = recorded("bot_detection")
    return {**rows[(shield_zone_id - 1) % len(rows)], "shieldZoneId": shield_zone_id}


def custom_rules(shield_zones: int) -> dict[int, dict[str, Any]]:
    """Return id → custom WAF rule as the platform sends it, for the shield zones from 1 to `shield_zones`."""
    rows = recorded("waf_custom_rule")
    rules: dict[int, dict[str, Any]] = {}
    for zone in range(1, shield_zones + 1):
        for rule_id in custom_rule_ids(zone):
            rules[rule_id] = {**rows[len(rules) % len(rows)], "id": rule_id, "shieldZoneId": zone}
    return rules


def api_guardian(shield_zone_id: int, world_began_at: float) -> dict[str, Any]:
    """Return the API guardian of a shield zone as the platform sends it; `world_began_at` is in unix seconds."""
    payload = recorded("api_guardian")
    times = {"createdAt": iso_naive(world_began_at - 60 * DAY), "updatedAt": iso_long(world_began_at - 2 * DAY)}
    own = {"shieldZoneId": shield_zone_id, **times}
    endpoints = [
        {**endpoint, "apiGuardianEndpointId": shield_zone_id * 100 + place, **own}
        for place, endpoint in enumerate(payload["endpoints"])
    ]
    version = f"1.{shield_zone_id}.0"
    return {"configuration": {**payload["configuration"], "version": version, **own}, "endpoints": endpoints}


@dataclass(slots=True)
class AccessList:
    """A custom access list."""

    list_id: int
    shield_zone_id: int
    name: str
    is_enabled: bool
    grows: bool  # the list gets an entry every day, and loses these entries every 30 days
    modified: float  # when the entries last changed, apart from growth, in unix seconds
    added: list[str] = field(default_factory=list)  # the entries that events have added


class AccessLists:
    """The account's custom access lists. In a world that is not healthy, the first list of each shield zone grows.

    `add_entry` raises KeyError for the id of an unknown list.
    """

    def __init__(self, noise: Noise, clock: WorldClock, shield_zones: int, *, healthy: bool) -> None:
        self._noise = noise
        self._clock = clock
        self.lists: dict[int, AccessList] = {}
        modified = (day_number(clock.now()) - 30) * DAY
        for zone in range(1, shield_zones + 1):
            for place, name in enumerate(seed("names", "access_lists")):
                list_id = 3 * zone + 2 + place  # the first zone has the ids 5 and 6, the second 8 and 9
                enabled = noise.chance(0.7, _ENABLED, list_id)
                grows = place == 0 and not healthy
                self.lists[list_id] = AccessList(list_id, zone, name, enabled, grows, modified)

    def add_entry(self, access_list_id: int, entry: str) -> None:
        """Add an entry to a list."""
        changed = self.lists[access_list_id]
        changed.added.append(entry)
        changed.modified = self._clock.now()

    def find(self, shield_zone_id: int, list_id: int) -> AccessList | None:
        """Return the list with this id if it belongs to the shield zone, otherwise None."""
        found = self.lists.get(list_id)
        return found if found is not None and found.shield_zone_id == shield_zone_id else None

    def answer(self, access_list: AccessList) -> dict[str, Any]:
        """Return a list as the platform sends it."""
        today = day_number(self._clock.now())
        grown_by = today % 30 if access_list.grows else 0
        size = self._noise.whole(8, 60, _SIZE, access_list.list_id) + grown_by
        drawn = (self._noise.number(_ENTRY, access_list.list_id, n) for n in range(size))
        entries = [f"198.51.{number >> 8 & 255}.{number & 255}/32" for number in drawn] + access_list.added
        grown_at = today * DAY if access_list.grows else 0
        content = "\n".join(entries)
        nullable = {
            "description": f"The {access_list.name.replace('-', ' ')} of shield zone {access_list.shield_zone_id}",
            "content": content,
            "checksum": hashlib.sha256(content.encode()).hexdigest(),
            "entryCount": len(entries),
            "lastModified": iso_of(access_list.list_id, max(access_list.modified, grown_at)),
        }
        if access_list.list_id == _ID_OF_LIST_WITH_NULLS:
            nullable |= dict.fromkeys(("description", "entryCount", "lastModified"))
        return {"id": access_list.list_id, "name": access_list.name, **nullable}
