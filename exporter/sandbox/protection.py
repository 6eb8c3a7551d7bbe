"""The protection of shield zones: bots, access lists and the API guardian."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.noise import Noise
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import DAY, day_number, iso_long, iso_naive

CONFIGURATIONS: Final = 100
"""The id of a list's configuration is by so much larger than the list's own."""

_SENSITIVITY, _MODE = 2, 4
_SIZE, _ENABLED, _ENTRY = range(1, 4)
_UPDATED, _FLAG, _COUNT = range(1, 4)


def bot_detection(noise: Noise, shield_zone_id: int) -> dict[str, Any]:
    """Return the bot detection of a shield zone as the platform sends it; of every fifth zone, with nulls."""
    integrity, address, browser = [noise.whole(1, 3, _SENSITIVITY, shield_zone_id, signal) for signal in range(3)]
    has_nulls = shield_zone_id % 5 == 0
    return {
        "requestIntegrity": {"sensitivity": integrity},
        "ipAddress": None if has_nulls else {"sensitivity": address},
        "browserFingerprint": {
            "sensitivity": None if has_nulls else browser,
            "aggression": noise.whole(0, 4, _SENSITIVITY, shield_zone_id, 3),
            "complexEnabled": shield_zone_id % 2 == 1,
        },
        "executionMode": noise.whole(0, 1, _MODE, shield_zone_id),
        "shieldZoneId": shield_zone_id,
    }


@dataclass(slots=True)
class AccessList:
    """A custom access list, and the configuration that switches it."""

    list_id: int
    shield_zone_id: int
    name: str
    is_enabled: bool
    grows: bool
    added: list[str] = field(default_factory=list)
    modified: float | None = None


class AccessLists:
    """The account's custom access lists, two for each shield zone; the first grows daily, except in a healthy world."""

    def __init__(self, noise: Noise, clock: WorldClock, shield_zones: int, *, healthy: bool = False) -> None:
        self._noise = noise
        self._clock = clock
        self.lists: dict[int, AccessList] = {}
        for zone in range(1, shield_zones + 1):
            for place, name in enumerate(seed("names", "access_lists")):
                list_id = 3 * zone + 2 + place
                enabled = noise.chance(0.7, _ENABLED, list_id)
                self.lists[list_id] = AccessList(list_id, zone, name, enabled, grows=place == 0 and not healthy)

    def add_entry(self, access_list_id: int, entry: str) -> None:
        """Add an entry to a list."""
        found = self.lists[access_list_id]
        found.added.append(entry)
        found.modified = self._clock.now()

    def find(self, shield_zone_id: int, list_id: int) -> AccessList | None:
        """Return a list of a shield zone."""
        found = self.lists.get(list_id)
        return found if found is not None and found.shield_zone_id == shield_zone_id else None

    def answer(self, found: AccessList) -> dict[str, Any]:
        """Return a list as the platform sends it; list 9 with nulls."""
        today = day_number(self._clock.now())
        size = self._noise.whole(8, 60, _SIZE, found.list_id) + (today % 30 if found.grows else 0)
        drawn = (self._noise.number(_ENTRY, found.list_id, n) for n in range(size))
        entries = [f"198.51.{number >> 8 & 255}.{number & 255}/32" for number in drawn] + found.added
        modified = (today - (0 if found.grows else 30)) * DAY if found.modified is None else found.modified
        content = "\n".join(entries)
        nullable = {
            "description": f"The {found.name.replace('-', ' ')} of shield zone {found.shield_zone_id}",
            "content": content,
            "checksum": hashlib.sha256(content.encode()).hexdigest(),
            "entryCount": len(entries),
            "lastModified": (iso_naive if found.list_id % 2 else iso_long)(modified),
        }
        if found.list_id == 9:  # noqa: PLR2004 - the one with nulls
            nullable |= dict.fromkeys(("description", "entryCount", "lastModified"))
        return {"id": found.list_id, "name": found.name, **nullable}


class ApiGuardian:
    """The API guardian, which checks requests against an API's description: of every zone whose plan has one."""

    def __init__(self, noise: Noise, clock: WorldClock) -> None:
        self._noise = noise
        self._opening = clock.now()

    def answer(self, shield_zone_id: int) -> dict[str, Any]:
        """Return a shield zone's configuration and endpoints as the platform sends them."""
        updated = self._opening - self._noise.between(1, 20, _UPDATED, shield_zone_id) * DAY
        configuration = {
            **seed("guardian", "configuration"),
            "shieldZoneId": shield_zone_id,
            "isEnabled": shield_zone_id % 3 == 0 or shield_zone_id == 1,
            "version": f"1.{shield_zone_id}.0",
            "maxTotalRegexLength": None if shield_zone_id % 2 == 0 else 10_000,
            "createdAt": iso_naive(self._opening - 60 * DAY),
            "updatedAt": iso_long(updated),
        }
        routes = seed("guardian", "routes")
        endpoints = [self._endpoint(shield_zone_id, place, updated, *route) for place, route in enumerate(routes)]
        # The last one is off.
        endpoints[-1]["isEnabled"] = False
        return {"configuration": configuration, "endpoints": endpoints}

    def _endpoint(self, shield_zone_id: int, place: int, updated: float, method: str, path: str) -> dict[str, Any]:
        # The first endpoint has every check, so that each check occurs at least once.
        checks = [place == 0 or self._noise.chance(0.6, _FLAG, shield_zone_id, place, flag) for flag in range(6)]
        schema = seed("guardian", "schema")
        parameters = {"Path": ["orderId"] * ("{" in path), "Query": ["page"], "Header": [], "Cookie": ["session"]}
        limited = place % 2 == 0
        return {
            "apiGuardianEndpointId": shield_zone_id * 100 + place,
            "shieldZoneId": shield_zone_id,
            "requestMethod": method,
            "requestPath": path,
            "validateRequestBodySchema": checks[1],
            "validateResponseBodySchema": checks[2],
            "validateAuthorization": checks[3],
            "isEnabled": True,
            "authSchemes": seed("guardian", "authSchemes"),
            "requestBodySchemaYaml": schema if method == "POST" else None,
            "responseBodySchemasYaml": {"200": schema, "404": "type: object\n"},
            "availableParameters": parameters,
            "injectionDetectionParameters": {**parameters, "Cookie": []},
            "detectParameterXss": checks[4],
            "detectParameterSqli": checks[5],
            "rateLimitingEnabled": limited,
            "rateLimitingRequestCount": self._noise.whole(10, 200, _COUNT, shield_zone_id, place) if limited else None,
            "createdAt": iso_naive(self._opening - 60 * DAY),
            "updatedAt": iso_long(updated - place * 3_600),
        }
