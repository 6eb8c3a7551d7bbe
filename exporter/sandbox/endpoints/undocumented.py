"""Endpoints that real platforms have and the interface does not document: traffic, storage, billing, load balancers.

Configured endpoints can poll them. The OpenAPI description does not contain them.
"""

from collections.abc import Callable, Container
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exporter.sandbox.answers import empty, payload
from exporter.sandbox.noise import Noise
from exporter.sandbox.operation import Access, is_allowed
from exporter.sandbox.request_parsing import RequestError, path_id
from exporter.sandbox.timestamps import DAY, date_of, day_number, iso_naive, month_start
from exporter.sandbox.world import World

# Path of the list → the first id, and the names in order.
_KINDS: Final = {
    "/pullzone": (501, ("shop-cdn", "media-cdn", "docs-cdn")),
    "/storagezone": (701, ("backups", "media")),
    "/loadbalancer": (801, ("checkout",)),
}
_WINDOW_DAYS: Final = 30
_BANDWIDTH, _REQUESTS, _ERRORS, _STORED, _CHARGES = range(5)

Answer = Callable[[Request], dict[str, Any]]


class UndocumentedEndpoints:
    """The undocumented endpoints of one world; all answers are functions of its seed and its clock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._noise = Noise(world.seed).branch("beside")

    def routes(self) -> list[Route]:
        """Return the routes of these paths."""
        answers: dict[str, Answer] = {
            "/statistics": self._statistics,
            "/billing": self._billing,
            "/compute/script/{id}/statistics": self._script_statistics,
            "/dnszone/{id}": self._dns_zone,
            "/pullzone/{id}": self._pull_zone,
            "/storagezone/{id}": self._storage_zone,
            "/loadbalancer/{id}": self._load_balancer,
            **{path: self._list(path) for path in _KINDS},
        }
        return [Route(path, self._endpoint(answer), methods=["GET"]) for path, answer in answers.items()]

    def _endpoint(self, answer: Answer) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if not is_allowed(self._world, request, Access.ACCESS_KEY):
                return empty(401)
            try:
                return payload(answer(request))
            except RequestError:
                return empty(404)

        return endpoint

    def _list(self, path: str) -> Answer:
        first, names = _KINDS[path]

        def answer(request: Request) -> dict[str, Any]:
            page, size = _number(request, "page", 1), max(5, _number(request, "perPage", 1000))
            items = [{"Id": first + place, "Name": name} for place, name in enumerate(names)]
            shown = items[(page - 1) * size : page * size]
            return {
                "Items": shown,
                "CurrentPage": page,
                "TotalItems": len(items),
                "HasMoreItems": page * size < len(items),
            }

        return answer

    def _named(self, number: int, path: str) -> tuple[int, str]:
        first, names = _KINDS[path]
        return _known(number, range(first, first + len(names))), names[number - first]

    def _chart(self, what: int, number: int, most: float) -> dict[str, int]:
        """Return a chart of days, in which today's value grows."""
        now = self._world.clock.now()
        today = day_number(now)
        whole = {
            day: self._noise.between(most / 2, most, what, number, day)
            for day in range(today - _WINDOW_DAYS, today + 1)
        }
        whole[today] *= (now % DAY) / DAY
        return {f"{date_of(day).isoformat()}T00:00:00Z": int(count) for day, count in whole.items()}

    def _statistics(self, request: Request) -> dict[str, Any]:
        number = _number(request, "pullZone", 0)
        if number:
            self._named(number, "/pullzone")
        bandwidth, requests = self._chart(_BANDWIDTH, number, 5e9), self._chart(_REQUESTS, number, 4e5)
        errors = {place: self._chart(_ERRORS + 10 * place, number, 400 / place) for place in (3, 4, 5)}
        return {
            "TotalBandwidthUsed": sum(bandwidth.values()),
            "TotalRequestsServed": sum(requests.values()),
            "CacheHitRate": round(self._noise.between(80, 99, _REQUESTS, number), 3),
            "BandwidthUsedChart": bandwidth,
            "RequestsServedChart": requests,
            **{f"Error{place}xxChart": chart for place, chart in errors.items()},
        }

    def _pull_zone(self, request: Request) -> dict[str, Any]:
        number, name = self._named(path_id(request, "id"), "/pullzone")
        return {
            "Id": number,
            "Name": name,
            "Type": number % 2,
            "Suspended": False,
            "MonthlyBandwidthLimit": 0,
            "MonthlyCharges": self._month(number, 40.0),
            "ZoneSecurityKey": "11111111-2222-3333-4444-555555555555",
        }

    def _month(self, number: int, dollars: float) -> float:
        """Return an amount that grows from the beginning of the month."""
        now = self._world.clock.now()
        return round(
            (now - month_start(now)) / (30 * DAY) * self._noise.between(dollars / 2, dollars, _CHARGES, number), 4
        )

    def _storage_zone(self, request: Request) -> dict[str, Any]:
        number, name = self._named(path_id(request, "id"), "/storagezone")
        stored = sum(self._chart(_STORED, number, 1e9).values())
        return {
            "Id": number,
            "Name": name,
            "Region": "DE",
            "ZoneTier": 0,
            "StorageUsed": stored,
            "FilesStored": stored // 100_000,
            "Password": "11111111-2222-3333-4444",
        }

    def _load_balancer(self, request: Request) -> dict[str, Any]:
        number, name = self._named(path_id(request, "id"), "/loadbalancer")
        origins = [{"Name": f"{name}-{place}.example.net", "Healthy": place != 3} for place in (1, 2, 3)]  # noqa: PLR2004 - the one that is down
        return {"Id": number, "Name": name, "Enabled": True, "Origins": origins}

    def _billing(self, _request: Request) -> dict[str, Any]:
        products = ("Storage", "DNS", "Scripting", "Bandwidth", "Shield")
        return {
            "Balance": 120.5,
            **{f"MonthlyCharges{name}": self._month(place, 30.0) for place, name in enumerate(products)},
            "MonthlyDnsNormalQueriesServed": int(self._month(11, 9e6)),
            "MonthlyDnsSmartQueriesServed": int(self._month(12, 2e6)),
            "MonthlyScriptingRequests": int(self._month(13, 5e6)),
        }

    def _script_statistics(self, request: Request) -> dict[str, Any]:
        number = _known(path_id(request, "id"), self._world.scripts.scripts)
        requests, cpu = self._chart(_REQUESTS, number, 9e4), self._chart(_BANDWIDTH, number, 6e5)
        total = sum(requests.values())
        average = round(sum(cpu.values()) / total, 3) if total else None
        return {"RequestsServedChart": requests, "CpuTimeChart": cpu, "AverageCpuTimePerRequest": average}

    def _dns_zone(self, request: Request) -> dict[str, Any]:
        number = _known(path_id(request, "id"), self._world.dns.zones)
        records = [{"Id": place, "Type": 0, "Name": f"host{place}"} for place in range(1, 4 + number % 5)]
        return {
            "Id": number,
            "NameserversDetected": number % 7 != 0,
            "MonitorStatus": 1,
            "Records": records,
            "DateModified": iso_naive(self._world.clock.now() - DAY),
            "DnsSecPrivateKey": None,
        }


def _known(number: int, ids: Container[int]) -> int:
    if number not in ids:
        raise RequestError("there is no such resource")
    return number


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and text != "0" else default


def routes(world: World) -> list[Route]:
    """Return the routes of the undocumented endpoints."""
    return UndocumentedEndpoints(world).routes()
