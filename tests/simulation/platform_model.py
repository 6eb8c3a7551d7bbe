"""A small model of the platform: what it counts, what it answers, and how its answers fail."""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from exporter.platform.operation import ADDRESS
from tests.simulation.virtual import VirtualClock

DAY = 86_400
WINDOW_DAYS = 31
KEYS = {"main": "the-key-of-main", "other": "the-key-of-other"}
PERHAPS, SURELY = 1, 2
# Status, headers and body of an answer; a status of 0 is a broken connection.
Reply = tuple[int, dict[str, str], bytes]


def _json(value: object, status: int = 200) -> Reply:
    return status, {"content-type": "application/json"}, json.dumps(value).encode()


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
SECONDS = {"": 0.05, "late": 11.0, "stalled": 1e6}


@dataclass(eq=False)
class Resource:
    """A zone or a script, with its queries or requests a second; `extra` has additions by day or by month."""

    name: str
    rate: float
    since: int = 0
    extra: Counter[int] = field(default_factory=Counter)


@dataclass(eq=False)
class Answer:
    """A good answer that the daemon has received.

    Attributes:
        life: the number of the process that received it.
        host: the address that was called.
        at: the true time, in unix seconds; `wall` is the machine's wall clock then.
        truth: a zone's queries by day, a script's requests of the month, or a rate limit's breaches by action and day.
        counted: whether the disk contains it: 0, `PERHAPS` or `SURELY`.
    """

    life: int
    host: str
    at: float
    wall: float
    truth: Any
    counted: int = 0


@dataclass(eq=False)
class Platform(httpx.AsyncBaseTransport):
    """Answers the calls of an account without a network, from the true numbers of each moment.

    Attributes:
        breaches: rate limit → action → day → breaches.
        faults: what happens to the next calls: a text in their path, a key of `FAULTS`, and their number.
        failed: the paths whose last answer was bad.
        shown: (account, kind, id) → the good answers that its client has received.
        asked: the true time of each call.
        short: how many resources searches leave out, while their total counts them.
        is_empty: whether searches return an empty list, with a total of 0.
        hidden: the days that charts of zones leave out.
        misdated: how many of the next answers are dated years ahead.
    """

    clock: VirtualClock
    zones: dict[int, Resource] = field(default_factory=dict)
    scripts: dict[int, Resource] = field(default_factory=dict)
    breaches: dict[int, dict[str, Counter[int]]] = field(default_factory=dict)
    faults: list[list[Any]] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    shown: dict[tuple[str, str, str], list[Answer]] = field(default_factory=dict)
    life: int = 0
    asked: list[float] = field(default_factory=list)
    short: int = 0
    is_empty: bool = False
    hidden: frozenset[int] = frozenset()
    misdated: int = 0

    def now(self) -> datetime:
        """Return the true time."""
        return datetime.fromtimestamp(self.clock.true(), UTC)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer after a short time, or fail."""
        address = urlsplit(str(request.extensions[ADDRESS]))
        self.asked.append(self.clock.true())
        self.failed.add(address.path)
        fault = next((one for one in self.faults if one[0] in address.path and one[2] > 0), list[Any](("", "", 0)))
        fault[2] -= 1
        await asyncio.sleep(SECONDS.get(fault[1], 0.05))
        account = next((name for name, key in KEYS.items() if key == request.headers.get("accesskey")), None)
        reply, shown = self._answer(address.path, parse_qs(address.query))
        if account is None or fault[1]:
            status, headers, body = FAULTS[fault[1] or "unauthorized"](reply)
        else:
            status, headers, body = reply
            if shown is not None:
                self.failed.discard(address.path)
                key, truth = (account, *shown[0]), shown[1]
                now = Answer(self.life, str(address.hostname), self.clock.true(), self.clock.wall(), truth)
                self.shown.setdefault(key, []).append(now)
        if not status:
            raise httpx.ReadError("Connection reset by peer")
        self.misdated -= 1
        date = self.now() + timedelta(days=800 if self.misdated >= 0 else 0)
        headers = {**headers, "date": format_datetime(date, usegmt=True)}
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))

    def _answer(self, path: str, query: dict[str, list[str]]) -> tuple[Reply, tuple[tuple[str, str], Any] | None]:
        """Return the answer to a call and, if a counter uses it, its kind and id, and the true numbers."""
        match path.strip("/").split("/"):
            case ["search"]:
                return self._search(int(query["from"][0]), int(query["size"][0])), None
            case ["dnszone", zone_id, "statistics"] if int(zone_id) in self.zones:
                days = self._days(self.zones[int(zone_id)])
                chart = {f"{date.fromordinal(day)}T00:00:00Z": number for day, number in days.items()}
                reply = _json({"TotalQueriesServed": sum(days.values()), "QueriesServedChart": chart})
                return reply, (("dns_zone", zone_id), days)
            case ["compute", "script", script_id] if int(script_id) in self.scripts:
                script, now = self.scripts[int(script_id)], self.now()
                seconds = (now - datetime(now.year, now.month, 1, tzinfo=UTC)).total_seconds()
                requests = max(0, math.floor(script.rate * seconds) + script.extra[now.month])
                reply = _json({"Id": int(script_id), "Name": script.name, "MonthlyRequestCount": requests})
                return reply, (("script", script_id), requests)
            case ["shield", "metrics", "rate-limit", limit] if int(limit) in self.breaches:
                newest, shown = self.now().toordinal(), dict[str, dict[str, int]]()
                breached = {
                    action: {day: number for day, number in days.items() if newest - 28 < day <= newest}
                    for action, days in self.breaches[int(limit)].items()
                }
                for action, days in breached.items():
                    for day, number in days.items():
                        shown.setdefault(f"{date.fromordinal(day):%d-%m-%Y}", {})[f"{action}Breaches"] = number
                data = {"ratelimitId": int(limit), "overview": {}, "ratelimitOverviewPastTwentyEightDays": shown}
                return _json({"data": data, "error": None}), (("rate_limit", limit), breached)
            case _:
                return _json({"Message": "not found"}, 404), None

    def _days(self, zone: Resource) -> dict[int, int]:
        """Return the days of a zone's window that are shown, oldest first, with their queries until now."""
        now = self.now()
        today, seconds = now.toordinal(), self.clock.true() % DAY
        window = range(max(zone.since, today - WINDOW_DAYS + 1), today + 1)
        shown = [day for day in window if day not in self.hidden]
        return {day: max(0, int(zone.rate * (seconds if day == today else DAY)) + zone.extra[day]) for day in shown}

    def _search(self, skipped: int, size: int) -> Reply:
        kinds = {"dns": self.zones, "script": self.scripts}
        found = [{"Type": kind, "Id": key, "Name": one.name} for kind, own in kinds.items() for key, one in own.items()]
        found = [] if self.is_empty else found
        page = found[: len(found) - self.short][skipped : skipped + size]
        return _json({"Query": "", "Total": len(found), "From": skipped, "Size": size, "SearchResults": page})
