"""Shield zones and their configurations, as the platform's list of shield zones shows them."""

import math
from typing import Any, Final

from exporter.sandbox.protection import custom_rule_ids
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.seed import recorded, seed
from exporter.sandbox.timestamps import DAY, day_number, iso_long
from exporter.sandbox.world_clock import WorldClock

_FIRST_PULL_ZONE_ID: Final = 201


class ShieldZones:
    """The account's shield zones, each with a pull zone. In a healthy world, only events end the learning mode.

    The methods except `page` raise KeyError for the id of an unknown shield zone.
    """

    def __init__(self, clock: WorldClock, count: int, *, healthy: bool) -> None:
        self._healthy = healthy
        self.zones = ResourceIds(1, count, seed("names", "shield_zones"))
        self.pull_zones = ResourceIds(_FIRST_PULL_ZONE_ID, count, seed("names", "shield_zones"))
        self._clock = clock
        self._began_at = clock.now()
        # Shield zone → the fields that `set_fields` has replaced.
        self._overrides: dict[int, dict[str, Any]] = {}

    def rename_zone(self, shield_zone_id: int, name: str) -> None:
        """Rename a shield zone and its pull zone."""
        self.zones.rename(shield_zone_id, name)
        self.pull_zones.rename(self._pull_zone_id(shield_zone_id), name)

    def set_fields(self, shield_zone_id: int, fields: dict[str, Any]) -> None:
        """Replace fields of a shield zone in the list; any JSON is possible, such as null or invalid values."""
        self._overrides.setdefault(self.zones.require(shield_zone_id), {}).update(fields)

    def plan(self, zone_id: int) -> int | None:
        """Return the plan of a shield zone; None if the plan in the list is not an integer."""
        plan = self.fields(zone_id)["planType"]
        return plan if isinstance(plan, int) else None

    def page(self, number: int, size: int) -> dict[str, Any]:
        """Return a page of the list as the platform sends it."""
        total = len(self.zones)
        pages = math.ceil(total / size)
        return {
            "data": [self.fields(zone_id) for zone_id in self.zones.slice((number - 1) * size, size)],
            "page": {
                "totalCount": total,
                "totalPages": pages,
                "currentPage": number,
                "nextPage": number + 1 if number < pages else None,
                "pageSize": size,
            },
        }

    def fields(self, zone_id: int) -> dict[str, Any]:
        """Return a shield zone as the list shows it."""
        rows: list[dict[str, Any]] = recorded("shield_zones")
        row = rows[self.zones.place(zone_id) % len(rows)]
        # In a healthy world, learning mode begins again with each day, so that its end is not reached.
        learning_began = day_number(self._clock.now()) * DAY if self._healthy else self._began_at
        own = {
            "shieldZoneId": zone_id,
            "pullZoneId": self._pull_zone_id(zone_id),
            "learningModeUntil": iso_long(learning_began + 7 * DAY) if row["learningMode"] else None,
            "wafCustomRuleOrder": custom_rule_ids(zone_id),
        }
        return {**row, **own, **self._overrides.get(zone_id, {})}

    def _pull_zone_id(self, zone_id: int) -> int:
        return _FIRST_PULL_ZONE_ID + self.zones.place(zone_id)
