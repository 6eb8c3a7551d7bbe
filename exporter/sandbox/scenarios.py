"""The events of the control endpoint, which change the world."""

import inspect
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

from pydantic import ConfigDict, ValidationError, validate_call

from exporter.sandbox.request_errors import RequestError, reasons
from exporter.sandbox.world import World

_CALL: Final = ConfigDict(allow_inf_nan=False)
_REACH: Final = 10**9
# Event → the method of the world.
_METHODS: Final = {
    "access_list_entry": "access_lists.add_entry",
    "breach_burst": "rate_limits.add_breaches",
    "dns_queries": "dns.add_queries",
    "dns_volume": "dns.set_volume",
    "image_tag_added": "registries.add_tag",
    "image_tag_removed": "registries.remove_tag",
    "scan_failed": "scans.fail_scan",
    "scan_forgotten": "scans.forget_scan",
    "scan_released": "scans.release_scan",
    "scan_started": "scans.start_scan",
    "script_added": "scripts.add_script",
    "script_cost": "scripts.set_month",
    "script_deleted": "scripts.set_deleted",
    "script_removed": "scripts.remove_script",
    "script_renamed": "scripts.rename_script",
    "shield_zone_added": "shield.add_zone",
    "shield_zone_fields": "shield.set_fields",
    "shield_zone_removed": "shield.remove_zone",
    "shield_zone_renamed": "shield.rename_zone",
    "zone_added": "dns.add_zone",
    "zone_removed": "dns.remove_zone",
    "zone_renamed": "dns.rename_zone",
}


def catalogue(world: World) -> dict[str, dict[str, Any]]:
    """Return every event with its parameters."""
    return {
        name: {
            "does": inspect.getdoc(event),
            "parameters": [str(one) for one in inspect.signature(event).parameters.values()],
        }
        for name, event in _events(world).items()
    }


def trigger(world: World, given: Mapping[str, Any]) -> object:
    """Trigger an event, and return its result: a new resource's id, or None.

    Raises:
        RequestError: there is no such event, or its parameters are wrong.
    """
    events = _events(world)
    event = events.get(str(given.get("event")))
    if event is None:
        raise RequestError(f"event: must be one of {', '.join(events)}")
    parameters = {key: value for key, value in given.items() if key != "event"}
    for key, value in parameters.items():
        # Larger amounts could make the world's sums overflow.
        if isinstance(value, int | float) and not key.endswith("_id") and abs(value) > _REACH:
            raise RequestError(f"{key}: at most {_REACH} at once")
    try:
        return validate_call(config=_CALL)(event)(**parameters)
    except ValidationError as error:
        raise RequestError(*reasons(error)) from error
    except KeyError as error:
        raise RequestError(f"nothing has the id or name {error.args[0]}") from error
    except ValueError as error:
        raise RequestError(str(error)) from error


def _events(world: World) -> dict[str, Callable[..., object]]:
    return {name: attrgetter(method)(world) for name, method in _METHODS.items()}
