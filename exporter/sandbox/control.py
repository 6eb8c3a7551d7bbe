"""The control endpoints, for tests and people: faults, the clock, events and database tokens."""

import math
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exporter.sandbox import index
from exporter.sandbox.answers import payload
from exporter.sandbox.faults import Faults, FaultSpecError
from exporter.sandbox.request_parsing import BadBodyError, BodyTooLargeError, body_bytes, int64, parse_object
from exporter.sandbox.resource_ids import Roster
from exporter.sandbox.scenarios import EventError, Events
from exporter.sandbox.tokens import DatabaseTokens
from exporter.sandbox.world import DATABASES, World

_SHOWN: Final = 1_000
_EARLIEST: Final = datetime(2001, 1, 1, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC).timestamp()
_FASTEST: Final = 1_000_000.0


class _BadControlError(Exception):
    """The request is wrong; the message says why."""


def routes(world: World, faults: Faults) -> list[Route]:
    """Return the routes of the control endpoints."""
    events = Events(world)

    async def on_faults(request: Request) -> Response:
        if request.method == "POST":
            return payload(faults.add(await _object(request)).summary(), 201)
        if request.method == "DELETE":
            faults.clear()
        return payload([scripted.summary() for scripted in faults.all()])

    async def on_fault(request: Request) -> Response:
        fault_id = int64(request.path_params["id"])
        removed = fault_id is not None and faults.remove(fault_id)
        return Response(status_code=204) if removed else _refusal(["there is no such fault"], 404)

    async def on_clock(request: Request) -> Response:
        if request.method == "POST":
            _turn(world, await _object(request))
        return payload({"now": _iso(world.clock.now()), "unix": world.clock.now(), "speed": world.clock.speed})

    async def on_world(request: Request) -> Response:
        if request.method == "POST":
            given = await _object(request)
            return payload({"event": given.get("event"), "made": events.happen(given)})
        return payload(_summary(world) | {"events": events.catalogue()})

    async def on_tokens(request: Request) -> Response:
        return payload(_tokens(world.tokens, await _object(request)), 201)

    return [
        *index.routes(),
        Route("/sandbox/faults", _guarded(on_faults), methods=["GET", "POST", "DELETE"]),
        Route("/sandbox/faults/{id}", _guarded(on_fault), methods=["DELETE"]),
        Route("/sandbox/clock", _guarded(on_clock), methods=["GET", "POST"]),
        Route("/sandbox/world", _guarded(on_world), methods=["GET", "POST"]),
        Route("/sandbox/tokens", _guarded(on_tokens), methods=["POST"]),
    ]


def _guarded(endpoint: Any) -> Any:  # noqa: ANN401 - Starlette's own types for endpoints say no more
    async def guarded(request: Request) -> Response:
        try:
            answer: Response = await endpoint(request)
        except (FaultSpecError, EventError) as error:
            answer = _refusal(error.reasons)
        except (_BadControlError, BadBodyError) as error:
            answer = _refusal([str(error)])
        except BodyTooLargeError:
            answer = _refusal(["the body is too large"], 413)
        return answer

    return guarded


def _refusal(reasons: list[str], status: int = 400) -> Response:
    return payload({"reasons": reasons}, status)


async def _object(request: Request) -> dict[str, Any]:
    """Read a JSON object of any content type."""
    return parse_object(await body_bytes(request))


def _turn(world: World, given: dict[str, Any]) -> None:
    unknown = sorted(set(given) - {"advance", "speed"})
    if unknown or not given:
        raise _BadControlError("give advance (seconds) or speed, or both" + (f", not {unknown[0]}" if unknown else ""))
    advance, speed = _number(given, "advance"), _number(given, "speed")
    if advance is not None and not _EARLIEST <= world.clock.now() + advance <= _LATEST:
        raise _BadControlError("advance: the world's time must stay between 2001 and 2200")
    if speed is not None and not 0 <= speed <= _FASTEST:
        raise _BadControlError("speed: must be from 0 to 1000000")
    if speed is not None:
        world.clock.set_speed(speed)
    if advance is not None:
        world.clock.advance(advance)


def _number(given: dict[str, Any], name: str) -> float | None:
    if name not in given:
        return None
    value = given[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _BadControlError(f"{name}: must be a finite number")
    return float(value)


def _tokens(tokens: DatabaseTokens, given: dict[str, Any]) -> dict[str, str]:
    match given:
        case {"action": "generate"}:
            return {kind.value: token for kind, token in tokens.generate().items()}
        case {"action": "regenerate"}:
            return {kind.value: token for kind, token in tokens.regenerate().items()}
        case _:
            raise _BadControlError("action: must be generate or regenerate")


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


def _listed(roster: Roster) -> dict[str, Any]:
    """Return the first thousand resources of a roster and the number of all."""
    first = [{"id": resource_id, "name": roster.name(resource_id)} for resource_id in roster.slice(0, _SHOWN)]
    return {"total": len(roster), "first": first}


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()
