"""The control endpoints, for tests and people: faults, the clock, events and database tokens."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from itertools import product
from typing import Any, Final

from jinja2 import Environment
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from exporter.foreign.patterns import Pattern
from exporter.sandbox.answers import payload
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.fault_kinds import KINDS, Fault
from exporter.sandbox.faults import Faults
from exporter.sandbox.keys import DatabaseTokens, TokenKind
from exporter.sandbox.request_parsing import RequestError, json_object, reasons
from exporter.sandbox.scenarios import Events
from exporter.sandbox.search import ResourceIds
from exporter.sandbox.seed import seed
from exporter.sandbox.world import DATABASES, World

_SHOWN: Final = 1_000
_EARLIEST: Final = datetime(2001, 1, 1, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC).timestamp()
_FASTEST: Final = 1_000_000.0


_INDEX: Final = """\
A local platform. These commands control it.

Show ids, names, keys, and all events:
  curl URL/sandbox/world

Make something happen:
  curl -d '{"event": "scan_failed", "zone_id": 101}' URL/sandbox/world

Script a fault for the requests of a path, path_regex or method:
  curl -d '{"kind": "status", "status": 503, "path_regex": "/dnszone/.*", "times": 20}' URL/sandbox/faults

List the scripted faults, and how often each was used:
  curl URL/sandbox/faults

Remove one of them:
  curl -X DELETE URL/sandbox/faults/1

Remove all of them:
  curl -X DELETE URL/sandbox/faults

Show the world's time:
  curl URL/sandbox/clock

Advance the clock by a number of seconds, or change its speed:
  curl -d '{"advance": 86400, "speed": 60}' URL/sandbox/clock

Create tokens for the databases; regenerate invalidates the old ones:
  curl -d '{"action": "generate"}' URL/sandbox/tokens

Describe every operation of the platform:
  curl URL/openapi.json
"""


class _ClockChange(BaseModel):
    """A change of the world's clock."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    advance: float = 0.0
    speed: float | None = Field(default=None, ge=0, le=_FASTEST)


async def refuse(_request: Request, error: RequestError) -> Response:
    """Answer with the reasons of an error."""
    return payload({"reasons": error.reasons}, error.status)


def routes(world: World, faults: Faults) -> list[Route]:
    """Return the routes of the control endpoints."""
    events = Events(world)

    async def on_clock(request: Request) -> Response:
        if request.method == "POST":
            _change_clock(world.clock, await json_object(request))
        return payload({"now": _iso(world.clock.now()), "unix": world.clock.now(), "speed": world.clock.speed})

    async def on_world(request: Request) -> Response:
        if request.method == "POST":
            given = await json_object(request)
            return payload({"event": given.get("event"), "made": events.trigger(given)})
        described = json.dumps(_summary(world) | {"events": events.catalogue()}, indent=2)
        return Response(f"{described}\n", media_type="application/json")

    async def on_index(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return _page(request, _summary(world) | {"events": events.catalogue()}, faults)
        return PlainTextResponse(_INDEX.replace("URL", _url(request)))

    async def on_tokens(request: Request) -> Response:
        return payload(_pair(world.tokens, await json_object(request)), 201)

    return [
        *(Route(path, on_index) for path in ("/", "/sandbox", "/sandbox/")),
        *_fault_routes(faults),
        Route("/sandbox/clock", on_clock, methods=["GET", "POST"]),
        Route("/sandbox/world", on_world, methods=["GET", "POST"]),
        Route("/sandbox/tokens", on_tokens, methods=["POST"]),
    ]


def _fault_routes(faults: Faults) -> list[Route]:
    async def on_faults(request: Request) -> Response:
        if request.method == "POST":
            added = faults.add(await json_object(request))
            try:
                _refuse_idle(added.kind, request.app.routes)
            except RequestError:
                faults.remove(added.fault_id)
                raise
            return payload(added.summary(), 201)
        if request.method == "DELETE":
            faults.clear()
        return payload([scripted.summary() for scripted in faults.all()])

    async def on_fault(request: Request) -> Response:
        if not faults.remove(request.path_params["id"]):
            raise RequestError("there is no such fault", status=404)
        return Response(status_code=204)

    return [
        Route("/sandbox/faults", on_faults, methods=["GET", "POST", "DELETE"]),
        Route("/sandbox/faults/{id:int}", on_fault, methods=["DELETE"]),
    ]


def _page(request: Request, world: dict[str, Any], faults: Faults) -> Response:
    """Answer with the page for a person: the world, and forms for faults and events."""
    kinds = [(name, model.__doc__, model.model_fields.keys() - Fault.model_fields) for name, model in KINDS.items()]
    template = Environment(autoescape=True).from_string(files(__package__).joinpath("page.html").read_text("utf-8"))
    shown = [one.summary() for one in faults.all()]
    return HTMLResponse(template.render(url=_url(request), world=world, faults=shown, kinds=kinds, tries=seed("tries")))


def _url(request: Request) -> str:
    return str(request.base_url).rstrip("/")


def _refuse_idle(fault: Fault, routes: Sequence[BaseRoute]) -> None:
    """Refuse a fault whose path or pattern matches no path of the platform, whatever the ids in it are.

    Raises:
        RequestError: there is no such path.
    """
    paths = [route.path for route in routes if isinstance(route, Route)]
    if fault.path is not None:
        idle = not any(re.fullmatch(re.sub("{.*?}", "[^/]+", path), fault.path) for path in paths)
    elif fault.path_regex is not None:
        pattern, words = Pattern(fault.path_regex), re.findall(r"\w+", fault.path_regex)
        idle = not any(
            pattern.fullmatch(path.format(*ids))
            for path in (re.sub("{.*?}", "{}", path) for path in paths)
            for ids in (*product(words, repeat=path.count("{")), *((number,) * 2 for number in range(1_200)))
        )
    else:
        idle = False
    if idle:
        field = "path" if fault.path_regex is None else "path_regex"
        raise RequestError(f"{field}: matches no path of the platform; /dnszone/.* matches /dnszone/101/statistics")


def _change_clock(clock: WorldClock, given: dict[str, Any]) -> None:
    try:
        change = _ClockChange.model_validate(given)
    except ValidationError as error:
        raise RequestError(*reasons(error)) from error
    if not given:
        raise RequestError("give advance (seconds) or speed, or both")
    if not _EARLIEST <= clock.now() + change.advance <= _LATEST:
        raise RequestError("advance: the world's time must stay between 2001 and 2200")
    if change.speed is not None:
        clock.set_speed(change.speed)
    clock.advance(change.advance)


def _pair(tokens: DatabaseTokens, given: dict[str, Any]) -> dict[TokenKind, str]:
    match given:
        case {"action": "generate"}:
            return tokens.generate()
        case {"action": "regenerate"}:
            return tokens.regenerate()
        case _:
            raise RequestError("action: must be generate or regenerate")


def _summary(world: World) -> dict[str, Any]:
    return {
        "now": _iso(world.clock.now()),
        "seed": world.seed,
        "dns_zones": _listed(world.dns.zones),
        "scripts": _listed(world.scripts.scripts),
        "shield_zones": _listed(world.shield.zones),
        "rate_limits": [
            {"id": limit_id, "name": name, "shield_zone_id": zone_id}
            for limit_id, name, zone_id in world.rate_limit_ids()[:_SHOWN]
        ],
        "access_lists": [
            {
                "id": one.list_id,
                "configuration_id": one.configuration_id,
                "shield_zone_id": one.shield_zone_id,
                "name": one.name,
            }
            for one in world.access_lists.lists()[:_SHOWN]
        ],
        "waf_custom_rules": [
            {"id": rule.rule_id, "shield_zone_id": rule.shield_zone_id, "name": rule.name}
            for rule in world.waf.rules()[:_SHOWN]
        ],
        "images": [
            {"registry_id": registry_id, "namespace": namespace, "name": name, "tags": tags}
            for registry_id, namespace, name, tags in world.images()
        ],
        "search_terms": world.search_terms(),
        "databases": list(DATABASES),
        "keys": world.keys,
    }


def _listed(ids: ResourceIds) -> dict[str, Any]:
    """Return the number of resources, and the first thousand of them."""
    first = [{"id": resource_id, "name": ids.name(resource_id)} for resource_id in ids.slice(0, _SHOWN)]
    return {"total": len(ids), "first": first}


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()
