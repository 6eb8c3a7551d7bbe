"""The control endpoints, with which tests and people change the sandbox's answers."""

import inspect
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from jinja2 import Environment
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from exporter.sandbox.answers import payload
from exporter.sandbox.faults import KINDS, Fault, Faults
from exporter.sandbox.keys import DatabaseTokens
from exporter.sandbox.protection import CONFIG_ID_OFFSET
from exporter.sandbox.request_errors import RequestError, json_object, reasons
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.seed import seed
from exporter.sandbox.world import DATABASES, World
from exporter.sandbox.world_clock import WorldClock

_MOST_LISTED_OF_A_KIND: Final = 1_000
# The largest amount, positive or negative, in the parameters of an event. Sums of much larger ones could overflow.
_LARGEST_AMOUNT: Final = 10**9
_INDEX: Final = files(__package__).joinpath("index.txt").read_text("utf-8")

# Event → the method that the event calls, as a path of attributes from the `World`.
_METHODS: Final = {
    "access_list_entry": "access_lists.add_entry",
    "breach_burst": "rate_limits.add_breaches",
    "dns_queries": "dns.add_queries",
    "image_tag_removed": "images.remove_tag",
    "scan_failed": "scans.fail_scan",
    "scan_forgotten": "scans.forget_scan",
    "scan_released": "scans.release_scan",
    "script_added": "scripts.add_script",
    "script_cost": "scripts.set_month",
    "script_renamed": "scripts.rename_script",
    "shield_zone_renamed": "shield.rename_zone",
    "shield_zone_fields": "shield.set_fields",
    "zone_added": "dns.add_zone",
    "zone_removed": "dns.remove_zone",
    "zone_renamed": "dns.rename_zone",
}


class _ClockChange(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    advance: float = Field(default=0.0, ge=-1e9, le=1e9)  # in seconds
    speed: float | None = Field(default=None, ge=0, le=1e6)


async def refuse(_request: Request, error: RequestError) -> Response:
    """Return the response to a wrong request of a control endpoint."""
    return payload({"reasons": error.reasons}, error.status)


def _summary(world: World) -> dict[str, Any]:
    return {
        "now": datetime.fromtimestamp(world.clock.now(), UTC).isoformat(),
        "seed": world.seed,
        "dns_zones": _listed(world.dns.zones),
        "scripts": _listed(world.scripts.scripts),
        "shield_zones": _listed(world.shield.zones),
        "rate_limits": [
            {"id": limit_id, "name": limit.name, "shield_zone_id": limit.shield_zone_id}
            for limit_id, limit in islice(world.rate_limits.limits.items(), _MOST_LISTED_OF_A_KIND)
        ],
        "access_lists": [
            {"id": n, "configuration_id": n + CONFIG_ID_OFFSET, "shield_zone_id": one.shield_zone_id, "name": one.name}
            for n, one in islice(world.access_lists.lists.items(), _MOST_LISTED_OF_A_KIND)
        ],
        "waf_custom_rules": [
            {"id": rule_id, "shield_zone_id": rule["shieldZoneId"], "name": rule["ruleName"]}
            for rule_id, rule in islice(world.custom_rules.items(), _MOST_LISTED_OF_A_KIND)
        ],
        "images": [
            {"registry_id": registry_id, "namespace": namespace, "name": name, "tags": tags}
            for registry_id, namespace, name, tags in world.images.all()
        ],
        "search_terms": seed("search_terms"),
        "databases": list(DATABASES),
        "keys": world.keys,
        "events": _event_descriptions(world),
    }


def _listed(ids: ResourceIds) -> dict[str, Any]:
    first = [{"id": resource_id, "name": ids.name(resource_id)} for resource_id in ids.slice(0, _MOST_LISTED_OF_A_KIND)]
    return {"total": len(ids), "first": first}


def _event_descriptions(world: World) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "does": inspect.getdoc(event),
            "parameters": [str(one) for one in inspect.signature(event).parameters.values()],
        }
        for name, event in _events(world).items()
    }


def _trigger(world: World, given: Mapping[str, Any]) -> object:
    """Trigger an event. Return the id of the new resource if the event creates one, otherwise None."""
    events = _events(world)
    event: Any = events.get(str(given.get("event")))
    if event is None:
        raise RequestError(f"event: must be one of {', '.join(events)}")
    parameters = {key: value for key, value in given.items() if key != "event"}
    for key, value in parameters.items():
        is_amount = isinstance(value, int | float) and not key.endswith("_id")
        if is_amount and abs(value) > _LARGEST_AMOUNT:
            raise RequestError(f"{key}: must be from -{_LARGEST_AMOUNT} to {_LARGEST_AMOUNT}")
    try:
        # Strict: a number in quotes would evade the limit above. From JSON, strict validation accepts a date as text.
        call = TypeAdapter(event, config=ConfigDict(strict=True, allow_inf_nan=False))
        return call.validate_json(json.dumps(parameters))
    except ValidationError as error:
        raise RequestError(*reasons(error)) from error
    except KeyError as error:
        # The event's method raises KeyError for an unknown id or name.
        raise RequestError(f"nothing that can be changed has the id or name {error.args[0]}") from error
    except ValueError as error:
        raise RequestError(str(error)) from error


def _events(world: World) -> dict[str, Callable[..., object]]:
    return {name: attrgetter(method)(world) for name, method in _METHODS.items()}


async def _on_clock(request: Request) -> Response:
    clock: WorldClock = request.app.state.world.clock
    if request.method == "POST":
        try:
            change = _ClockChange.model_validate(await json_object(request))
        except ValidationError as error:
            raise RequestError(*reasons(error)) from error
        if change.speed is not None:
            clock.set_speed(change.speed)
        clock.advance(change.advance)
    now = clock.now()
    return payload({"now": datetime.fromtimestamp(now, UTC).isoformat(), "unix": now, "speed": clock.speed})


async def _on_world(request: Request) -> Response:
    world: World = request.app.state.world
    if request.method == "POST":
        given = await json_object(request)
        return payload({"event": given.get("event"), "made": _trigger(world, given)})
    return Response(f"{json.dumps(_summary(world), indent=2)}\n", media_type="application/json")


async def _on_index(request: Request) -> Response:
    url = str(request.base_url).rstrip("/")
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(_INDEX.replace("URL", url))
    # For each kind of fault: its name, what it does, and the fields that `Fault` does not have.
    kinds = [(name, model.__doc__, model.model_fields.keys() - Fault.model_fields) for name, model in KINDS.items()]
    template = Environment(autoescape=True).from_string(files(__package__).joinpath("page.html").read_text("utf-8"))
    faults = [one.summary() for one in request.app.state.faults.all()]
    world = _summary(request.app.state.world)
    values = {"url": url, "world": world, "faults": faults, "kinds": kinds, "tries": seed("tries")}
    return HTMLResponse(template.render(values, most_listed=_MOST_LISTED_OF_A_KIND))


async def _on_tokens(request: Request) -> Response:
    action = (await json_object(request)).get("action")
    if action not in ("generate", "regenerate"):
        raise RequestError("action: must be generate or regenerate")
    tokens: DatabaseTokens = request.app.state.world.tokens
    return payload(tokens.generate() if action == "generate" else tokens.regenerate(), 201)


async def _on_faults(request: Request) -> Response:
    faults: Faults = request.app.state.faults
    if request.method == "POST":
        return payload(faults.add(await json_object(request)).summary(), 201)
    if request.method == "DELETE":
        faults.clear()
    return payload([scripted.summary() for scripted in faults.all()])


async def _on_fault(request: Request) -> Response:
    if not request.app.state.faults.remove(request.path_params["id"]):
        raise RequestError("there is no such fault", status=404)
    return Response(status_code=204)


ROUTES: Final = (
    *(Route(path, _on_index) for path in ("/", "/sandbox", "/sandbox/")),
    Route("/sandbox/faults", _on_faults, methods=["GET", "POST", "DELETE"]),
    Route("/sandbox/faults/{id:int}", _on_fault, methods=["DELETE"]),
    Route("/sandbox/clock", _on_clock, methods=["GET", "POST"]),
    Route("/sandbox/world", _on_world, methods=["GET", "POST"]),
    Route("/sandbox/tokens", _on_tokens, methods=["POST"]),
)
