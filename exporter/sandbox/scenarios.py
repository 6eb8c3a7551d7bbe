"""The events of the control endpoint, which change the world."""

import inspect
from collections.abc import Callable, Mapping
from datetime import date
from enum import Enum
from operator import attrgetter
from types import UnionType
from typing import Any, Final, get_args

from pydantic import ConfigDict, ValidationError, validate_call

from exporter.sandbox.request_errors import RequestError, reasons
from exporter.sandbox.scans import ScanStatus
from exporter.sandbox.world import World

_CALL: Final = ConfigDict(allow_inf_nan=False)
_MISSING: Final = dict.fromkeys(("missing_argument", "missing_keyword_only_argument"), "is missing")
_REACH: Final = 10**9
# Event → the method of the world.
_METHODS: Final = {
    "access_list_entry": "access_lists.add_entry", "api_guardian_configured": "guardian.set_configured",
    "breach_burst": "rate_limits.add_breaches", "custom_rule_added": "waf.add_rule",
    "custom_rule_removed": "waf.remove_rule",
    "dns_bucket_hours": "dns.set_bucket_hours", "dns_chart": "dns.set_chart", "dns_day_dropped": "dns.drop_day",
    "dns_day_restored": "dns.restore_day", "dns_key_format": "dns.set_key_format", "dns_queries": "dns.add_queries",
    "dns_volume": "dns.set_volume", "image_tag_added": "registries.add_tag",
    "image_tag_removed": "registries.remove_tag", "rate_limit_added": "rate_limits.add_limit",
    "rate_limit_removed": "rate_limits.remove_limit", "registry_reachable": "registries.set_reachable",
    "scan_released": "scans.release_scan", "scan_started": "scans.start_scan", "script_added": "scripts.add_script",
    "script_cost": "scripts.set_month", "script_deleted": "scripts.set_deleted", "script_growth": "scripts.set_growth",
    "script_removed": "scripts.remove_script", "script_renamed": "scripts.rename_script",
    "shield_zone_added": "shield.add_zone", "shield_zone_fields": "shield.set_fields",
    "shield_zone_removed": "shield.remove_zone", "shield_zone_renamed": "shield.rename_zone",
    "zone_added": "dns.add_zone", "zone_removed": "dns.remove_zone", "zone_renamed": "dns.rename_zone",
}  # fmt: skip


class Events:
    """The events that a user of the sandbox can start, by name."""

    def __init__(self, world: World) -> None:
        def hold(status: ScanStatus | None, does: str) -> Callable[..., object]:
            def event(zone_id: int) -> None:
                world.scans.set_scan(zone_id, status)

            event.__doc__ = does
            return event

        states = {
            f"scan_{status.name.lower()}": (status, status.name.title().replace("_", "")) for status in ScanStatus
        }
        self._events: dict[str, Callable[..., object]] = {
            **{name: attrgetter(method)(world) for name, method in _METHODS.items()},
            **{name: hold(status, f"Hold a zone's scan in {state}.") for name, (status, state) in states.items()},
            "scan_forgotten": hold(None, "Remove a zone's scan, as if it was never scanned."),
        }

    def catalogue(self) -> dict[str, dict[str, Any]]:
        """Return every event with its parameters."""
        return {
            name: {
                "does": inspect.getdoc(event),
                "parameters": {
                    one.name: _kind(one.annotation) + ("" if one.default is one.empty else f" = {one.default!r}")
                    for one in inspect.signature(event).parameters.values()
                },
            }
            for name, event in sorted(self._events.items())
        }

    def trigger(self, given: Mapping[str, Any]) -> object:
        """Trigger an event, and return its result: a new resource's id, or None.

        Raises:
            RequestError: there is no such event, or its parameters are wrong.
        """
        name = given.get("event")
        event = self._events.get(name) if isinstance(name, str) else None
        if event is None:
            raise RequestError(f"event: must be one of {', '.join(sorted(self._events))}")
        parameters = {key: value for key, value in given.items() if key != "event"}
        for key, value in parameters.items():
            # Larger amounts could make the world's sums overflow.
            if isinstance(value, int | float) and not key.endswith("_id") and abs(value) > _REACH:
                raise RequestError(f"{key}: at most {_REACH} at once")
        try:
            return validate_call(config=_CALL)(event)(**parameters)
        except ValidationError as error:
            known = ", ".join(inspect.signature(event).parameters)
            words = {"unexpected_keyword_argument": f"is not a parameter of this event, which has {known}", **_MISSING}
            raise RequestError(*reasons(error, words)) from error
        except KeyError as error:
            # The name of the parameter with the missing resource's id tells its kind.
            absent = error.args[0]
            kinds = (key.removesuffix("_id") for key, value in parameters.items() if str(value) == str(absent))
            raise RequestError(f"there is no {next(kinds, 'image').replace('_', ' ')} {absent}") from error
        except ValueError as error:
            raise RequestError(str(error)) from error


def _kind(annotation: Any) -> str:  # noqa: ANN401 - any annotation
    """Describe the values of a parameter for people who write JSON."""
    if isinstance(annotation, UnionType):
        return " | ".join("None" if one is type(None) else _kind(one) for one in get_args(annotation))
    if annotation is date:
        return "date (YYYY-MM-DD)"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " | ".join(repr(member.value) for member in annotation)
    return inspect.formatannotation(annotation)
