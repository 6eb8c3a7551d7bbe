"""Endpoints that real platforms have and the interface does not document: traffic, storage, billing, load balancers.

Configured endpoints can poll them. The OpenAPI description does not contain them.
"""

from collections.abc import Container
from functools import partial
from typing import Annotated, Final, TypeAlias

from fastapi import Path, Query
from pydantic import BeforeValidator
from starlette.responses import Response

from exporter.sandbox.answers import payload
from exporter.sandbox.noise import Noise
from exporter.sandbox.operation import Access, Operation, Refusal, TheWorld, operation
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import DAY, date_of, day_number, iso_naive, month_start
from exporter.sandbox.world import World

_WINDOW_DAYS: Final = 30
_BANDWIDTH, _REQUESTS, _ERRORS, _STORED, _CHARGES = range(5)

_Id: TypeAlias = Annotated[int, Path(alias="id")]
# 0 if the text is no number.
_Number: TypeAlias = Annotated[int, BeforeValidator(lambda text: text if text.isascii() and text.isdigit() else 0)]
_get: Final = partial(operation, access=Access.ACCESS_KEY, errors="empty", described=False)


def _known(number: int, ids: Container[int]) -> int:
    if number not in ids:
        raise Refusal(Response(status_code=404))
    return number


def _named(number: int, path: str) -> tuple[int, str]:
    first, names = seed("undocumented", "kinds")[path]
    known = _known(number, range(first, first + len(names)))
    return known, names[known - first]


def _between(world: World, low: float, high: float, *parts: int) -> float:
    return Noise(world.seed).branch("beside").between(low, high, *parts)


def _chart(world: World, what: int, number: int, most: float) -> dict[str, int]:
    """Return a chart of days, in which today's value grows."""
    now = world.clock.now()
    today = day_number(now)
    whole = {day: _between(world, most / 2, most, what, number, day) for day in range(today - _WINDOW_DAYS, today + 1)}
    whole[today] *= (now % DAY) / DAY
    return {f"{date_of(day).isoformat()}T00:00:00Z": int(count) for day, count in whole.items()}


def _month(world: World, number: int, dollars: float) -> float:
    """Return an amount that grows from the beginning of the month."""
    now = world.clock.now()
    return round((now - month_start(now)) / (30 * DAY) * _between(world, dollars / 2, dollars, _CHARGES, number), 4)


def _list(path: str) -> Operation:
    first, names = seed("undocumented", "kinds")[path]
    items = [{"Id": first + place, "Name": name} for place, name in enumerate(names)]

    @_get(f"GET {path}")
    async def answer(page: _Number = 0, per_page: Annotated[_Number, Query(alias="perPage")] = 0) -> Response:
        page, size = page or 1, max(5, per_page or 1000)
        has_more = page * size < len(items)
        shown = items[(page - 1) * size : page * size]
        return payload({"Items": shown, "CurrentPage": page, "TotalItems": len(items), "HasMoreItems": has_more})

    return answer


@_get("GET /statistics")
async def _statistics(world: TheWorld, number: Annotated[_Number, Query(alias="pullZone")] = 0) -> Response:
    if number:
        _named(number, "/pullzone")
    bandwidth, requests = _chart(world, _BANDWIDTH, number, 5e9), _chart(world, _REQUESTS, number, 4e5)
    return payload(
        {
            "TotalBandwidthUsed": sum(bandwidth.values()),
            "TotalRequestsServed": sum(requests.values()),
            "CacheHitRate": round(_between(world, 80, 99, _REQUESTS, number), 3),
            "BandwidthUsedChart": bandwidth,
            "RequestsServedChart": requests,
            **{f"Error{n}xxChart": _chart(world, _ERRORS + 10 * n, number, 400 / n) for n in (3, 4, 5)},
        }
    )


@_get("GET /pullzone/{id}")
async def _pull_zone(world: TheWorld, resource_id: _Id) -> Response:
    number, name = _named(resource_id, "/pullzone")
    charges = _month(world, number, 40.0)
    own = {"Id": number, "Name": name, "Type": number % 2, "MonthlyCharges": charges}
    return payload(seed("undocumented", "pull_zone") | own)


@_get("GET /storagezone/{id}")
async def _storage_zone(world: TheWorld, resource_id: _Id) -> Response:
    number, name = _named(resource_id, "/storagezone")
    stored = sum(_chart(world, _STORED, number, 1e9).values())
    own = {"Id": number, "Name": name, "StorageUsed": stored, "FilesStored": stored // 100_000}
    return payload(seed("undocumented", "storage_zone") | own)


@_get("GET /loadbalancer/{id}")
async def _load_balancer(resource_id: _Id) -> Response:
    number, name = _named(resource_id, "/loadbalancer")
    # The third is down.
    origins = [{"Name": f"{name}-{place + 1}.example.net", "Healthy": place < 2} for place in range(3)]  # noqa: PLR2004
    return payload({"Id": number, "Name": name, "Enabled": True, "Origins": origins})


@_get("GET /billing")
async def _billing(world: TheWorld) -> Response:
    products = enumerate(seed("undocumented", "products"))
    return payload(
        {
            "Balance": 120.5,
            **{f"MonthlyCharges{name}": _month(world, place, 30.0) for place, name in products},
            "MonthlyDnsNormalQueriesServed": int(_month(world, 11, 9e6)),
            "MonthlyDnsSmartQueriesServed": int(_month(world, 12, 2e6)),
            "MonthlyScriptingRequests": int(_month(world, 13, 5e6)),
        }
    )


@_get("GET /compute/script/{id}/statistics")
async def _script_statistics(world: TheWorld, resource_id: _Id) -> Response:
    number = _known(resource_id, world.scripts.scripts)
    requests, cpu = _chart(world, _REQUESTS, number, 9e4), _chart(world, _BANDWIDTH, number, 6e5)
    total = sum(requests.values())
    average = round(sum(cpu.values()) / total, 3) if total else None
    return payload({"RequestsServedChart": requests, "CpuTimeChart": cpu, "AverageCpuTimePerRequest": average})


@_get("GET /dnszone/{id}")
async def _dns_zone(world: TheWorld, resource_id: _Id) -> Response:
    number = _known(resource_id, world.dns.zones)
    return payload(
        {
            "Id": number,
            "NameserversDetected": number % 7 != 0,
            "MonitorStatus": 1,
            "Records": [{"Id": place, "Type": 0, "Name": f"host{place}"} for place in range(1, 4 + number % 5)],
            "DateModified": iso_naive(world.clock.now() - DAY),
            "DnsSecPrivateKey": None,
        }
    )


OPERATIONS: Final = (
    *(_list(path) for path in ("/pullzone", "/storagezone", "/loadbalancer")),
    *(_statistics, _pull_zone, _storage_zone, _load_balancer, _billing, _script_statistics, _dns_zone),
)
