"""The events of the control endpoint, which change the world."""

import inspect
from collections.abc import Callable, Mapping
from datetime import date
from enum import Enum
from types import UnionType
from typing import Any, Final, get_args

from pydantic import ConfigDict, ValidationError, validate_call

from exporter.sandbox.request_parsing import RequestError, reasons
from exporter.sandbox.scans import ScanStatus
from exporter.sandbox.world import World

_CALL: Final = ConfigDict(allow_inf_nan=False)
_MISSING: Final = dict.fromkeys(("missing_argument", "missing_keyword_only_argument"), "is missing")
_REACH: Final = 10**9
_RESOURCES: Final = {
    "zone_id": "DNS zone",
    "script_id": "edge script",
    "shield_zone_id": "shield zone",
    "rate_limit_id": "rate limit",
    "access_list_id": "access list",
    "rule_id": "custom WAF rule",
}


class Events:
    """The events, by name."""

    def __init__(self, world: World) -> None:
        self._events = _events(world)

    def catalogue(self) -> dict[str, dict[str, Any]]:
        """Return every event with its parameters."""
        return {
            name: {"does": inspect.getdoc(event), "parameters": _parameters(event)}
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
        try:
            _refuse_large(parameters)
            return validate_call(config=_CALL)(event)(**parameters)
        except ValidationError as error:
            known = ", ".join(inspect.signature(event).parameters)
            words = {"unexpected_keyword_argument": f"is not a parameter of this event, which has {known}", **_MISSING}
            raise RequestError(*reasons(error, words)) from error
        except KeyError as error:
            raise RequestError(f"there is no {_absent(error.args[0], parameters)}") from error
        except ValueError as error:
            raise RequestError(str(error)) from error


def _absent(resource: object, parameters: Mapping[str, Any]) -> str:
    """Name the missing resource; the name of the parameter with its id tells its kind."""
    named = (name for name in _RESOURCES if str(parameters.get(name)) == str(resource))
    return f"{_RESOURCES.get(next(named, ''), 'image')} {resource}"


def _kind(annotation: Any) -> str:  # noqa: ANN401 - any annotation
    """Describe the values of a parameter for people who write JSON."""
    if isinstance(annotation, UnionType):
        return " | ".join("None" if one is type(None) else _kind(one) for one in get_args(annotation))
    if annotation is date:
        return "date (YYYY-MM-DD)"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " | ".join(repr(member.value) for member in annotation)
    return inspect.formatannotation(annotation)


def _parameters(event: Callable[..., object]) -> dict[str, str]:
    parameters = {}
    for name, parameter in inspect.signature(event).parameters.items():
        kind = _kind(parameter.annotation)
        required = parameter.default is inspect.Parameter.empty
        parameters[name] = kind if required else f"{kind} = {parameter.default!r}"
    return parameters


def _refuse_large(parameters: Mapping[str, Any]) -> None:
    """Refuse amounts that could make the world's sums overflow."""
    for name, value in parameters.items():
        if isinstance(value, int | float) and not name.endswith("_id") and abs(value) > _REACH:
            raise ValueError(f"{name}: at most {_REACH} at once")


def _events(world: World) -> dict[str, Callable[..., object]]:
    """Return the functions that change the world, by the names of their events."""
    dns, scans, scripts, images = world.dns, world.scans, world.scripts, world.registries

    def hold(status: ScanStatus | None, does: str) -> Callable[..., object]:
        def event(zone_id: int) -> None:
            scans.set_scan(zone_id, status)

        event.__doc__ = does
        return event

    def breach_burst(
        rate_limit_id: int, logged: int = 0, challenged: int = 0, blocked: int = 100, day: date | None = None
    ) -> None:
        """Add breaches of a rate limit to today or another day."""
        world.rate_limits.add_breaches(rate_limit_id, logged=logged, challenged=challenged, blocked=blocked, day=day)

    return {
        "access_list_entry": world.access_lists.add_entry,
        "api_guardian_configured": world.guardian.set_configured,
        "breach_burst": breach_burst,
        "custom_rule_added": world.waf.add_rule,
        "custom_rule_removed": world.waf.remove_rule,
        "dns_bucket_hours": dns.set_bucket_hours,
        "dns_chart": dns.set_chart,
        "dns_day_dropped": dns.drop_day,
        "dns_day_restored": dns.restore_day,
        "dns_key_format": dns.set_key_format,
        "dns_queries": dns.add_queries,
        "dns_volume": dns.set_volume,
        "image_tag_added": images.add_tag,
        "image_tag_removed": images.remove_tag,
        "rate_limit_added": world.rate_limits.add_limit,
        "rate_limit_removed": world.rate_limits.remove_limit,
        "registry_reachable": images.set_reachable,
        "scan_completed": hold(ScanStatus.COMPLETED, "Hold a zone's scan in Completed."),
        "scan_failed": hold(ScanStatus.FAILED, "Hold a zone's scan in Failed."),
        "scan_forgotten": hold(None, "Remove a zone's scan, as if it was never scanned."),
        "scan_in_progress": hold(ScanStatus.IN_PROGRESS, "Hold a zone's scan in InProgress."),
        "scan_pending": hold(ScanStatus.PENDING, "Hold a zone's scan in Pending."),
        "scan_released": scans.release_scan,
        "scan_started": scans.start_scan,
        "script_added": scripts.add_script,
        "script_cost": scripts.set_month,
        "script_deleted": scripts.set_deleted,
        "script_growth": scripts.set_growth,
        "script_removed": scripts.remove_script,
        "script_renamed": scripts.rename_script,
        "shield_zone_added": world.shield.add_zone,
        "shield_zone_fields": world.shield.set_fields,
        "shield_zone_removed": world.shield.remove_zone,
        "shield_zone_renamed": world.shield.rename_zone,
        "zone_added": dns.add_zone,
        "zone_removed": dns.remove_zone,
        "zone_renamed": dns.rename_zone,
    }
