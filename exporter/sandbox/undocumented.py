"""Operations of real platforms that the interface document lacks; configured endpoints of the exporter call them."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Path, Query
from starlette.responses import Response

from exporter.sandbox.answers import payload
from exporter.sandbox.noise import Noise
from exporter.sandbox.route import PlatformRoute, TheWorld, operation
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import DAY, date_of, day_number, iso_naive, month_start
from exporter.sandbox.world import World

_WINDOW_DAYS: Final = 30
# The purposes of numbers from `Noise`. The purpose is the first of `parts`, so each purpose has independent numbers.
_BANDWIDTH, _REQUESTS, _ERRORS_3XX, _ERRORS_4XX, _ERRORS_5XX, _STORED, _CHARGES, _CPU, _CACHE_HITS = range(9)

_Id: TypeAlias = Annotated[int, Path(alias="id")]
_get: Final = partial(operation, bearer=False, errors="empty", described=False)


def _between(world: World, low: float, high: float, *parts: int) -> float:
    return Noise(world.seed).branch("undocumented").between(low, high, *parts)


def _chart(world: World, purpose: int, resource_id: int, most: float) -> dict[str, int]:
    """Return a chart with values up to `most`; today's value grows during the day."""
    now = world.clock.now()
    today = day_number(now)
    days = range(today - _WINDOW_DAYS, today + 1)
    counts = {day: _between(world, most / 2, most, purpose, resource_id, day) for day in days}
    counts[today] *= (now % DAY) / DAY
    return {f"{date_of(day).isoformat()}T00:00:00Z": int(count) for day, count in counts.items()}


def _month_to_date(world: World, noise_part: int, most: float) -> float:
    """Return an amount that grows from 0 at the beginning of the month to at most `most` after 30 days."""
    now = world.clock.now()
    after_30_days = _between(world, most / 2, most, _CHARGES, noise_part)
    return round((now - month_start(now)) / (30 * DAY) * after_30_days, 4)


def _list_operation(path: str) -> PlatformRoute:
    first, names = seed("undocumented", "kinds")[path]
    items = [{"Id": first + place, "Name": name} for place, name in enumerate(names)]

    @_get(f"GET {path}")
    async def answer(page: int = 1) -> Response:
        shown = items if page <= 1 else []
        return payload({"Items": shown, "CurrentPage": page, "TotalItems": len(items), "HasMoreItems": False})

    return answer


def _item_operation(path: str, fields: Callable[[World, int, str], dict[str, Any]]) -> PlatformRoute:
    """Return the operation for one resource of a list; `fields` returns the fields of the answer after id and name."""
    first, names = seed("undocumented", "kinds")[path]
    name_by_id = dict(enumerate(names, start=first))

    @_get(f"GET {path}/{{id}}")
    async def answer(world: TheWorld, resource_id: _Id) -> Response:
        name = name_by_id.get(resource_id)
        if name is None:
            return Response(status_code=404)
        return payload({"Id": resource_id, "Name": name, **fields(world, resource_id, name)})

    return answer


def _pull_zone(world: World, resource_id: int, _name: str) -> dict[str, Any]:
    charges = _month_to_date(world, resource_id, 40.0)
    return {"Type": resource_id % 2, "MonthlyCharges": charges, **seed("undocumented", "pull_zone")}


def _storage_zone(world: World, resource_id: int, _name: str) -> dict[str, Any]:
    stored = sum(_chart(world, _STORED, resource_id, 1e9).values())
    return {"StorageUsed": stored, "FilesStored": stored // 100_000, **seed("undocumented", "storage_zone")}


def _load_balancer(_world: World, _resource_id: int, name: str) -> dict[str, Any]:
    # The third origin is down.
    origins = [{"Name": f"{name}-{place}.example.net", "Healthy": place < 3} for place in (1, 2, 3)]  # noqa: PLR2004
    return {"Enabled": True, "Origins": origins}


@_get("GET /statistics")
async def _statistics(world: TheWorld, pull_zone_id: Annotated[int, Query(alias="pullZone")] = 0) -> Response:
    first, names = seed("undocumented", "kinds")["/pullzone"]
    # The id 0 stands for all pull zones.
    if pull_zone_id != 0 and pull_zone_id not in range(first, first + len(names)):
        return Response(status_code=404)
    bandwidth, requests = _chart(world, _BANDWIDTH, pull_zone_id, 5e9), _chart(world, _REQUESTS, pull_zone_id, 4e5)
    return payload(
        {
            "TotalBandwidthUsed": sum(bandwidth.values()),
            "TotalRequestsServed": sum(requests.values()),
            "CacheHitRate": round(_between(world, 80, 99, _CACHE_HITS, pull_zone_id), 3),
            "BandwidthUsedChart": bandwidth,
            "RequestsServedChart": requests,
            "Error3xxChart": _chart(world, _ERRORS_3XX, pull_zone_id, 130),
            "Error4xxChart": _chart(world, _ERRORS_4XX, pull_zone_id, 100),
            "Error5xxChart": _chart(world, _ERRORS_5XX, pull_zone_id, 80),
        }
    )


@_get("GET /billing")
async def _billing(world: TheWorld) -> Response:
    products = enumerate(seed("undocumented", "products"))
    charges = {f"MonthlyCharges{name}": _month_to_date(world, place, 30.0) for place, name in products}
    served = {name: int(_month_to_date(world, number, most)) for name, number, most in seed("undocumented", "served")}
    return payload({"Balance": 120.5, **charges, **served})


@_get("GET /compute/script/{id}/statistics")
async def _script_statistics(world: TheWorld, script_id: _Id) -> Response:
    if script_id not in world.scripts.scripts:
        return Response(status_code=404)
    requests, cpu = _chart(world, _REQUESTS, script_id, 9e4), _chart(world, _CPU, script_id, 6e5)
    total = sum(requests.values())
    average = round(sum(cpu.values()) / total, 3) if total else None
    return payload({"RequestsServedChart": requests, "CpuTimeChart": cpu, "AverageCpuTimePerRequest": average})


@_get("GET /dnszone/{id}")
async def _dns_zone(world: TheWorld, zone_id: _Id) -> Response:
    if zone_id not in world.dns.zones:
        return Response(status_code=404)
    # From three to seven records. One zone of seven is not delegated to the platform's name servers.
    records = [{"Id": place, "Type": 0, "Name": f"host{place}"} for place in range(1, 4 + zone_id % 5)]
    is_delegated = zone_id % 7 != 0
    modified = iso_naive(world.clock.now() - DAY)
    own = {"Id": zone_id, "NameserversDetected": is_delegated, "MonitorStatus": 1, "Records": records}
    return payload({**own, "DateModified": modified, "DnsSecPrivateKey": None})


OPERATIONS: Final = (
    *(_list_operation(path) for path in ("/pullzone", "/storagezone", "/loadbalancer")),
    _item_operation("/pullzone", _pull_zone),
    _item_operation("/storagezone", _storage_zone),
    _item_operation("/loadbalancer", _load_balancer),
    _statistics,
    _billing,
    _script_statistics,
    _dns_zone,
)
