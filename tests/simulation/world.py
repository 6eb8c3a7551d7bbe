"""A small model of the platform: what it counts, what it answers, and how its answers fail."""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from exporter.platform.operation import ADDRESS
from tests.simulation.virtual import VirtualClock

DAY = 86_400
WINDOW_DAYS = 31
LATENCY_SECONDS = 0.05
# Account → its key.
KEYS = {"main": "the-key-of-main", "other": "the-key-of-other"}

Headers = dict[str, str]
# Status, headers and body of an answer; a status of 0 is a broken connection.
Reply = tuple[int, Headers, bytes]


@dataclass(eq=False)
class Zone:
    """A DNS zone, whose queries come evenly.

    Attributes:
        rate: queries a second.
        since: the ordinal of its first day.
        extra: day → what was added or taken away.
    """

    name: str
    rate: float
    since: int
    extra: Counter[int] = field(default_factory=Counter)


@dataclass(eq=False)
class Script:
    """An edge script; `extra` has what was added to the requests of a month, (year, month)."""

    name: str
    rate: float
    extra: Counter[tuple[int, int]] = field(default_factory=Counter)


@dataclass(eq=False)
class World:
    """The resources of an account, and their true numbers at each moment."""

    clock: VirtualClock
    zones: dict[int, Zone] = field(default_factory=dict)
    scripts: dict[int, Script] = field(default_factory=dict)
    # Rate limit → action → day → breaches.
    breaches: dict[int, dict[str, Counter[int]]] = field(default_factory=dict)

    def now(self) -> datetime:
        """Return the true time."""
        return datetime.fromtimestamp(self.clock.true(), UTC)

    def days(self, zone: Zone) -> dict[int, int]:
        """Return the days of a zone's window, oldest first, with their queries until now."""
        now = self.now()
        today = now.toordinal()
        seconds = (now - datetime(now.year, now.month, now.day, tzinfo=UTC)).total_seconds()
        shown = range(max(zone.since, today - WINDOW_DAYS + 1), today + 1)
        return {
            day: max(0, math.floor(zone.rate * (seconds if day == today else DAY)) + zone.extra[day]) for day in shown
        }

    def requests(self, script: Script) -> int:
        """Return a script's requests of the month to date."""
        now = self.now()
        seconds = (now - datetime(now.year, now.month, 1, tzinfo=UTC)).total_seconds()
        return max(0, math.floor(script.rate * seconds) + script.extra[now.year, now.month])

    def breached(self, limit: int) -> dict[str, dict[int, int]]:
        """Return the breaches of a rate limit's window by action and day; days without any are missing."""
        today = self.now().toordinal()
        return {
            action: {day: number for day, number in days.items() if today - 28 < day <= today}
            for action, days in self.breaches[limit].items()
        }


def _midnight(day: int) -> str:
    return f"{date.fromordinal(day).isoformat()}T00:00:00Z"


def _json(value: object, status: int = 200) -> Reply:
    return status, {"content-type": "application/json"}, json.dumps(value).encode()


@dataclass(eq=False)
class Fault:
    """What happens to the next requests whose path contains a text.

    Attributes:
        path: the text; empty for every path.
        kind: a key of `FAULTS`.
        left: for how many requests.
    """

    path: str
    kind: str
    left: float = 1


FAULTS: dict[str, Callable[[Reply], Reply]] = {
    "unauthorized": lambda _: (401, {}, b""),
    "forbidden": lambda _: _json({"message": "no"}, 403),
    "limited": lambda _: (429, {"retry-after": "7"}, b""),
    "busy": lambda _: (503, {}, b"<html>busy</html>"),
    "broken": lambda _: _json({"Message": "broken"}, 500),
    "html": lambda reply: (reply[0], {}, b"<html><body>maintenance</body></html>"),
    "truncated": lambda reply: (reply[0], reply[1], reply[2][: len(reply[2]) // 2]),
    "wrong types": lambda _: _json([{"TotalQueriesServed": "many"}]),
    "reset": lambda _: (0, {}, b""),
    "late": lambda reply: reply,
    "stalled": lambda reply: reply,
}
# The client's deadline is 10 s.
DELAYS = {"late": 11.0, "stalled": 1e6}


@dataclass(eq=False)
class Answer:
    """A good answer that the daemon has received.

    Attributes:
        life: the number of the process that received it.
        host: the address that was called.
        at: the true time, in unix seconds.
        wall: the machine's wall clock then.
        truth: for a zone the queries by day, for a script the requests of the month, for a rate limit the breaches by
            action and day.
        counted: `no` while nothing on the disk contains it, `perhaps`, or `yes`.
    """

    life: int
    host: str
    at: float
    wall: float
    truth: Any
    counted: str = "no"


@dataclass(eq=False)
class Platform(httpx.AsyncBaseTransport):
    """Answers the calls of an account from the world, over no network.

    Attributes:
        shown: (account, kind, id) → the good answers that its client has received.
        life: the number of the process that calls.
        asked: true time and path of each request.
        failed: the paths whose last answer was bad.
        short: how many resources searches leave out, while their total counts them.
        is_empty: whether searches find nothing, and say so.
    """

    world: World
    faults: list[Fault] = field(default_factory=list)
    shown: dict[tuple[str, str, str], list[Answer]] = field(default_factory=dict)
    life: int = 0
    asked: list[tuple[float, str]] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    short: int = 0
    is_empty: bool = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer after a short time, or fail."""
        address = urlsplit(str(request.extensions[ADDRESS]))
        self.asked.append((self.world.clock.true(), address.path))
        fault = self._fault(address.path)
        self.failed.add(address.path)
        await asyncio.sleep(DELAYS.get(fault, LATENCY_SECONDS))
        key = request.headers.get("accesskey", "")
        account = next((name for name, own in KEYS.items() if own == key), None)
        if account is None:
            reply: Reply = (401, {}, b"")
        else:
            reply, noted = self._answer(address.path, parse_qs(address.query))
            if fault:
                reply = FAULTS[fault](reply)
            elif noted is not None:
                resource, truth = noted
                clock = self.world.clock
                answer = Answer(self.life, str(address.hostname), clock.true(), clock.wall(), truth)
                self.failed.discard(address.path)
                self.shown.setdefault((account, *resource), []).append(answer)
        status, headers, body = reply
        if not status:
            raise httpx.ReadError("Connection reset by peer")
        headers = {**headers, "date": format_datetime(self.world.now(), usegmt=True)}
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))

    def _fault(self, path: str) -> str:
        for fault in self.faults:
            if fault.path in path and fault.left > 0:
                fault.left -= 1
                return fault.kind
        return ""

    def _answer(self, path: str, query: dict[str, list[str]]) -> tuple[Reply, tuple[tuple[str, str], Any] | None]:
        match path.strip("/").split("/"):
            case ["search"]:
                return self._search(int(query["from"][0]), int(query["size"][0])), None
            case ["dnszone", zone_id, "statistics"] if int(zone_id) in self.world.zones:
                days = self.world.days(self.world.zones[int(zone_id)])
                chart = {_midnight(day): number for day, number in days.items()}
                body = {"TotalQueriesServed": sum(days.values()), "QueriesServedChart": chart}
                return _json(body), (("dns_zone", zone_id), days)
            case ["compute", "script", script_id] if int(script_id) in self.world.scripts:
                script = self.world.scripts[int(script_id)]
                requests = self.world.requests(script)
                body = {"Id": int(script_id), "Name": script.name, "MonthlyRequestCount": requests}
                return _json(body), (("script", script_id), requests)
            case ["shield", "metrics", "rate-limit", limit] if int(limit) in self.world.breaches:
                breached = self.world.breached(int(limit))
                shown: dict[str, dict[str, int]] = {}
                for action, days in breached.items():
                    for day, number in days.items():
                        shown.setdefault(f"{date.fromordinal(day):%d-%m-%Y}", {})[f"{action}Breaches"] = number
                data = {"ratelimitId": int(limit), "overview": {}, "ratelimitOverviewPastTwentyEightDays": shown}
                return _json({"data": data, "error": None}), (("rate_limit", limit), breached)
            case _:
                return _json({"Message": "not found"}, 404), None

    def _search(self, skipped: int, size: int) -> Reply:
        zones = [{"Type": "dns", "Id": one, "Name": zone.name} for one, zone in self.world.zones.items()]
        scripts = [{"Type": "script", "Id": one, "Name": script.name} for one, script in self.world.scripts.items()]
        found: list[dict[str, Any]] = [] if self.is_empty else [*zones, *scripts]
        total, left = len(found), found[: len(found) - self.short]
        page = left[skipped : skipped + size]
        return _json({"Query": "", "Total": total, "From": skipped, "Size": size, "SearchResults": page})


def calls_in(asked: Iterable[tuple[float, str]], seconds: float) -> int:
    """Return the highest number of calls within any window of this length."""
    times = sorted(at for at, _ in asked)
    most, first = 0, 0
    for last, at in enumerate(times):
        while at - times[first] >= seconds:
            first += 1
        most = max(most, last - first + 1)
    return most
