"""API guardian: the API description against which a shield zone checks requests."""

from typing import Any, Final

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.noise import Noise
from exporter.sandbox.timestamps import DAY, iso_long, iso_naive

_UPDATED, _FLAG, _COUNT = range(1, 4)
_ROUTES: Final = (
    ("GET", "/v1/orders"),
    ("POST", "/v1/orders"),
    ("GET", "/v1/orders/{orderId}"),
    ("DELETE", "/v1/orders/{orderId}"),
    ("POST", "/v1/login"),
    ("GET", "/v1/products"),
)
_SCHEMA: Final = "type: object\nproperties:\n  id:\n    type: integer\n"


class ApiGuardian:
    """The API guardian of every shield zone whose plan has one."""

    def __init__(self, noise: Noise, clock: WorldClock) -> None:
        self._noise = noise
        self._clock = clock
        self._opening = clock.now()
        self._configured: dict[int, bool] = {}

    def set_configured(self, shield_zone_id: int, *, configured: bool = True) -> None:
        """Give a shield zone a configuration, or take it away."""
        self._configured[shield_zone_id] = configured

    def is_configured(self, shield_zone_id: int, plan: int | None) -> bool:
        """Return whether a shield zone of this plan has a configuration; by default those of paid plans do."""
        return self._configured.get(shield_zone_id, plan not in (None, 0))

    def answer(self, shield_zone_id: int) -> dict[str, Any]:
        """Return a shield zone's configuration and endpoints as the platform sends them."""
        updated = self._opening - self._noise.between(1, 20, _UPDATED, shield_zone_id) * DAY
        configuration = {
            "shieldZoneId": shield_zone_id,
            "isEnabled": shield_zone_id % 3 == 0 or shield_zone_id == 1,
            "title": "Orders API",
            "version": f"1.{shield_zone_id}.0",
            "maxEndpoints": 50,
            "maxFieldsPerType": 100,
            "maxNestingDepth": 10,
            "maxTotalSchemaNodes": 5_000,
            "maxTotalRegexLength": None if shield_zone_id % 2 == 0 else 10_000,
            "createdAt": iso_naive(self._opening - 60 * DAY),
            "updatedAt": iso_long(updated),
        }
        return {
            "configuration": configuration,
            "endpoints": [self._endpoint(shield_zone_id, place, updated) for place in range(len(_ROUTES))],
        }

    def _endpoint(self, shield_zone_id: int, place: int, updated: float) -> dict[str, Any]:
        method, path = _ROUTES[place]

        def drawn(flag: int) -> bool:
            return self._noise.chance(0.6, _FLAG, shield_zone_id, place, flag)

        writes = method == "POST"
        parameters = {
            "Path": ["orderId"] if "{" in path else [],
            "Query": ["page"],
            "Header": [],
            "Cookie": ["session"],
        }
        limited = place % 2 == 0
        return {
            "apiGuardianEndpointId": shield_zone_id * 100 + place,
            "shieldZoneId": shield_zone_id,
            "requestMethod": method,
            "requestPath": path,
            # The first endpoint has every check, so that each check occurs at least once.
            "validateRequestBodySchema": place == 0 or drawn(1),
            "validateResponseBodySchema": place == 0 or drawn(2),
            "validateAuthorization": place == 0 or drawn(3),
            "isEnabled": place != len(_ROUTES) - 1,
            "authSchemes": [{"schemeName": "bearerAuth", "credentialName": "Authorization", "httpScheme": "bearer"}],
            "requestBodySchemaYaml": _SCHEMA if writes else None,
            "responseBodySchemasYaml": {"200": _SCHEMA, "404": "type: object\n"},
            "availableParameters": parameters,
            "injectionDetectionParameters": {**parameters, "Cookie": []},
            "detectParameterXss": place == 0 or drawn(4),
            "detectParameterSqli": place == 0 or drawn(5),
            "rateLimitingEnabled": limited,
            "rateLimitingRequestCount": self._noise.whole(10, 200, _COUNT, shield_zone_id, place) if limited else None,
            "createdAt": iso_naive(self._opening - 60 * DAY),
            "updatedAt": iso_long(updated - place * 3_600),
        }
