"""The events of the control endpoint, which change the world."""

import inspect
from collections.abc import Callable, Mapping
from datetime import date
from enum import Enum
from types import UnionType
from typing import Any, Final, get_args

from pydantic import ConfigDict, ValidationError, validate_call

from exporter.sandbox.dns import Chart, KeyFormat, Shape
from exporter.sandbox.scans import ScanStatus
from exporter.sandbox.world import World

_CALL: Final = ConfigDict(allow_inf_nan=False)
_REACH: Final = 10**9
_RESOURCES: Final = {
    "zone_id": "DNS zone",
    "script_id": "edge script",
    "shield_zone_id": "shield zone",
    "rate_limit_id": "rate limit",
    "access_list_id": "access list",
    "rule_id": "custom WAF rule",
}


class EventError(Exception):
    """An event is not valid; it holds the reasons."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class Events:
    """The events, by name."""

    def __init__(self, world: World) -> None:
        happenings = (_Dns(world), _Scans(world), _Scripts(world), _Shield(world), _Containers(world))
        self._events: dict[str, Callable[..., object]] = {
            name: method
            for happening in happenings
            for name, method in inspect.getmembers(happening, inspect.ismethod)
            if not name.startswith("_")
        }

    def catalogue(self) -> dict[str, dict[str, Any]]:
        """Return every event with its parameters."""
        return {
            name: {"does": inspect.getdoc(event), "parameters": _parameters(event)}
            for name, event in sorted(self._events.items())
        }

    def happen(self, given: Mapping[str, Any]) -> object:
        """Trigger an event, and return its result: a new resource's id, or None.

        Raises:
            EventError: there is no such event, or its parameters are wrong.
        """
        name = given.get("event")
        event = self._events.get(name) if isinstance(name, str) else None
        if event is None:
            raise EventError([f"event: must be one of {', '.join(sorted(self._events))}"])
        parameters = {key: value for key, value in given.items() if key != "event"}
        try:
            return validate_call(config=_CALL)(event)(**parameters)
        except ValidationError as error:
            known = ", ".join(inspect.signature(event).parameters)
            raise EventError([_reason(fault, known) for fault in error.errors(include_url=False)]) from error
        except KeyError as error:
            raise EventError([f"there is no {_absent(error.args[0], parameters)}"]) from error
        except ValueError as error:
            raise EventError([str(error)]) from error


def _reason(fault: Mapping[str, Any], known: str) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    match fault["type"]:
        case "missing_keyword_only_argument":
            return f"{where}: is missing"
        case "unexpected_keyword_argument":
            return f"{where}: is no parameter of this event, which has {known}"
        case _:
            return f"{where}: {fault['msg']}"


def _absent(resource: object, parameters: Mapping[str, Any]) -> str:
    """Name the missing resource; the parameter that holds its id says which kind it is."""
    named = (name for name in _RESOURCES if str(parameters.get(name)) == str(resource))
    return f"{_RESOURCES.get(next(named, ''), 'image')} {resource}"


def _kind(annotation: Any) -> str:  # noqa: ANN401 - whatever stands in a signature
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


def _bounded(name: str, *values: float | None) -> None:
    if any(value is not None and abs(value) > _REACH for value in values):
        raise ValueError(f"{name}: at most {_REACH} at once")


class _Dns:
    def __init__(self, world: World) -> None:
        self._dns = world.dns

    def dns_queries(self, *, zone_id: int, queries: int, day: date | None = None) -> None:
        """Add queries to today or another day; negative numbers remove some."""
        _bounded("queries", queries)
        self._dns.add_queries(zone_id, queries, day)

    def dns_volume(self, *, zone_id: int, queries_a_day: float) -> None:
        """Set the queries of a zone on an average day, its past included."""
        _bounded("queries_a_day", queries_a_day)
        self._dns.set_volume(zone_id, max(0.0, queries_a_day))

    def dns_day_dropped(self, *, zone_id: int, day: date) -> None:
        """Leave a day out of a zone's answers."""
        self._dns.drop_day(zone_id, day)

    def dns_day_restored(self, *, zone_id: int, day: date) -> None:
        """Undo dns_day_dropped."""
        self._dns.restore_day(zone_id, day)

    def dns_chart(self, *, zone_id: int, chart: Chart, shape: Shape) -> None:
        """Send a chart in full, empty, or as null."""
        self._dns.set_chart(zone_id, chart, shape)

    def dns_key_format(self, *, zone_id: int, key_format: KeyFormat) -> None:
        """Write the keys of a zone's buckets in another way."""
        self._dns.set_key_format(zone_id, key_format)

    def dns_bucket_hours(self, *, zone_id: int, hours: int) -> None:
        """Set the length of a zone's buckets in hours."""
        self._dns.set_bucket_hours(zone_id, hours)

    def zone_added(self, *, name: str, zone_id: int | None = None, queries_a_day: float | None = None) -> int:
        """Add a DNS zone."""
        _bounded("queries_a_day", queries_a_day)
        return self._dns.add_zone(name, zone_id, queries_a_day=queries_a_day)

    def zone_removed(self, *, zone_id: int) -> None:
        """Remove a DNS zone."""
        self._dns.remove_zone(zone_id)

    def zone_renamed(self, *, zone_id: int, name: str) -> None:
        """Give a DNS zone another name."""
        self._dns.rename_zone(zone_id, name)


class _Scans:
    def __init__(self, world: World) -> None:
        self._scans = world.scans

    def scan_started(self, *, zone_id: int, fails: bool = False, seconds: float = 120.0) -> None:
        """Start a scan that ends after a number of seconds of the world."""
        _bounded("seconds", seconds)
        self._scans.start_scan(zone_id, fails=fails, seconds=max(0.0, seconds))

    def scan_pending(self, *, zone_id: int) -> None:
        """Hold a zone's scan in Pending."""
        self._scans.set_scan(zone_id, ScanStatus.PENDING)

    def scan_in_progress(self, *, zone_id: int) -> None:
        """Hold a zone's scan in InProgress."""
        self._scans.set_scan(zone_id, ScanStatus.IN_PROGRESS)

    def scan_completed(self, *, zone_id: int) -> None:
        """Hold a zone's scan in Completed."""
        self._scans.set_scan(zone_id, ScanStatus.COMPLETED)

    def scan_failed(self, *, zone_id: int) -> None:
        """Hold a zone's scan in Failed."""
        self._scans.set_scan(zone_id, ScanStatus.FAILED)

    def scan_forgotten(self, *, zone_id: int) -> None:
        """Remove a zone's scan, as if it was never scanned."""
        self._scans.set_scan(zone_id, None)

    def scan_released(self, *, zone_id: int) -> None:
        """End the hold of a zone's scan."""
        self._scans.release_scan(zone_id)


class _Scripts:
    def __init__(self, world: World) -> None:
        self._scripts = world.scripts

    def script_cost(
        self,
        *,
        script_id: int,
        cost: float | None = None,
        requests: int | None = None,
        cpu_ms: float | None = None,
    ) -> None:
        """Set a script's values of the current month."""
        _bounded("cost, requests and cpu_ms", cost, requests, cpu_ms)
        self._scripts.set_month(script_id, cost=cost, requests=requests, cpu_ms=cpu_ms)

    def script_growth(self, *, script_id: int, growth: float) -> None:
        """Multiply the growth of a script's month."""
        _bounded("growth", growth)
        self._scripts.set_growth(script_id, max(0.0, growth))

    def script_added(self, *, name: str, script_id: int | None = None) -> int:
        """Add an edge script."""
        return self._scripts.add_script(name, script_id)

    def script_removed(self, *, script_id: int) -> None:
        """Remove an edge script."""
        self._scripts.remove_script(script_id)

    def script_renamed(self, *, script_id: int, name: str) -> None:
        """Give an edge script another name."""
        self._scripts.rename_script(script_id, name)

    def script_deleted(self, *, script_id: int, deleted: bool = True) -> None:
        """Flag a script as deleted, or not."""
        self._scripts.set_deleted(script_id, deleted=deleted)


class _Shield:
    def __init__(self, world: World) -> None:
        self._world = world

    def breach_burst(
        self,
        *,
        rate_limit_id: int,
        logged: int = 0,
        challenged: int = 0,
        blocked: int = 100,
        day: date | None = None,
    ) -> None:
        """Add breaches of a rate limit to today or another day."""
        _bounded("breaches", logged, challenged, blocked)
        limits = self._world.rate_limits
        limits.add_breaches(rate_limit_id, logged=logged, challenged=challenged, blocked=blocked, day=day)

    def rate_limit_added(self, *, name: str, shield_zone_id: int, rate_limit_id: int | None = None) -> int:
        """Add a rate limit whose only breaches are those of breach_burst."""
        return self._world.rate_limits.add_limit(name, shield_zone_id, rate_limit_id)

    def rate_limit_removed(self, *, rate_limit_id: int) -> None:
        """Remove a rate limit."""
        self._world.rate_limits.remove_limit(rate_limit_id)

    def shield_zone_added(self, *, name: str, shield_zone_id: int | None = None) -> int:
        """Add a shield zone with a pull zone of this name."""
        return self._world.shield.add_zone(name, shield_zone_id)

    def shield_zone_removed(self, *, shield_zone_id: int) -> None:
        """Remove a shield zone."""
        self._world.shield.remove_zone(shield_zone_id)

    def shield_zone_renamed(self, *, shield_zone_id: int, name: str) -> None:
        """Give the pull zone of a shield zone another name."""
        self._world.shield.rename_zone(shield_zone_id, name)

    def shield_zone_fields(self, *, shield_zone_id: int, fields: dict[str, Any]) -> None:
        """Override fields of a shield zone in the list."""
        self._world.shield.set_fields(shield_zone_id, fields)

    def api_guardian_configured(self, *, shield_zone_id: int, configured: bool = True) -> None:
        """Give a shield zone an API guardian configuration, or take it away."""
        self._world.guardian.set_configured(shield_zone_id, configured=configured)

    def access_list_entry(self, *, access_list_id: int, entry: str) -> None:
        """Add an entry to an access list."""
        self._world.access_lists.add_entry(access_list_id, entry)

    def custom_rule_added(self, *, shield_zone_id: int, name: str, rule_id: int | None = None) -> int:
        """Add a custom WAF rule."""
        return self._world.waf.add_rule(shield_zone_id, name, rule_id)

    def custom_rule_removed(self, *, rule_id: int) -> None:
        """Remove a custom WAF rule."""
        self._world.waf.remove_rule(rule_id)


class _Containers:
    def __init__(self, world: World) -> None:
        self._registries = world.registries

    def image_tag_added(self, *, registry_id: str, namespace: str, name: str, tag: str) -> None:
        """Add a tag to an image."""
        self._registries.add_tag(registry_id, namespace, name, tag)

    def image_tag_removed(self, *, registry_id: str, namespace: str, name: str, tag: str) -> None:
        """Remove a tag from an image."""
        self._registries.remove_tag(registry_id, namespace, name, tag)

    def registry_reachable(self, *, registry_id: str, reachable: bool = True) -> None:
        """Set whether a registry answers the platform."""
        self._registries.set_reachable(registry_id, reachable=reachable)
