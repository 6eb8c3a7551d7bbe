"""DNS zones: their traffic and statistics, pure functions of seed, zone and time, and a test's changes to them."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Final

from exporter.sandbox.noise import Noise
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import DAY, date_of, day_number, number_of
from exporter.sandbox.world_clock import WorldClock

FIRST_ZONE_ID: Final = 101
_HISTORY_DAYS: Final = 1_000
_WINDOW_DAYS: Final = 30
_VOLUME, _DAILY, _AMPLITUDE, _PEAK, _SMART = range(1, 6)
_WEEKEND: Final = frozenset({2, 3})  # days after 1970-01-01, a Thursday


class Chart(StrEnum):
    """A chart of the statistics."""

    QUERIES = "queries"
    NORMAL = "normal"
    SMART = "smart"
    RECORD_TYPES = "record_types"


class Shape(StrEnum):
    """The form in which the platform sends a chart."""

    FULL = "full"
    EMPTY = "empty"
    NULL = "null"


_VARIETY: Final = 12


@dataclass(frozen=True, slots=True)
class _Traffic:
    """The constant properties of a zone's traffic; `volume` is the queries of an average day."""

    zone_id: int
    volume: float
    amplitude: float
    peak: float
    smart_share: float
    record_types: dict[str, float]
    daily: Noise

    def served(self, day: int, part: float) -> int:
        """Return the queries from the beginning of a day to a part (0 to 1) of it."""
        if part <= 0.0:
            return 0
        week = 0.7 if day % 7 in _WEEKEND else 1.0
        whole_day = int(self.volume * week * (0.85 + 0.3 * self.daily.fraction(day)))
        if part >= 1.0:
            return whole_day
        # The integral of 1 + a * cos(2 pi (x - peak)): it rises from 0 to 1, fastest at the peak.
        turn = 2 * math.pi
        swing = math.sin(turn * (part - self.peak)) + math.sin(turn * self.peak)
        return int(whole_day * min(1.0, max(0.0, part + self.amplitude * swing / turn)))

    def smart_part(self, queries: int) -> int:
        """Return the number of queries with smart routing; the rest had normal routing."""
        return int(queries * self.smart_share)

    def by_record_type(self, queries: int) -> dict[str, int]:
        """Divide queries among the record types: RR type code → number; the numbers add up to the total."""
        parts = {code: int(queries * share) for code, share in self.record_types.items()}
        parts["1"] += queries - sum(parts.values())
        return parts


@dataclass(slots=True)
class _Changes:
    """The changes that a test made to a zone."""

    volume: float | None = None
    routes_smartly: bool | None = None
    added: dict[int, int] = field(default_factory=dict)
    shapes: dict[Chart, Shape] = field(default_factory=dict)


class DnsZones:
    """The account's DNS zones."""

    def __init__(self, noise: Noise, clock: WorldClock, count: int) -> None:
        self.zones = ResourceIds(FIRST_ZONE_ID, count, seed("names", "dns_zones"), ".example")
        self._clock = clock
        self._noise = noise
        self._changes: defaultdict[int, _Changes] = defaultdict(_Changes)

    def add_zone(
        self, name: str, zone_id: int | None = None, *, queries_a_day: float | None = None, routes_smartly: bool = True
    ) -> int:
        """Add a zone and return its id; with `queries_a_day=0` it has only added queries."""
        new_id = self.zones.add(name, zone_id)
        self._changes[new_id] = _Changes(volume=queries_a_day, routes_smartly=routes_smartly)
        return new_id

    def remove_zone(self, zone_id: int) -> None:
        """Remove a zone."""
        self.zones.remove(zone_id)
        self._changes.pop(zone_id, None)

    def rename_zone(self, zone_id: int, name: str) -> None:
        """Give a zone another name."""
        self.zones.rename(zone_id, name)

    def add_queries(self, zone_id: int, queries: int, day: date | None = None) -> None:
        """Add queries to today or to a past day of a zone; a negative number removes some."""
        number = day_number(self._clock.now()) if day is None else number_of(day)
        added = self._change(zone_id).added
        added[number] = added.get(number, 0) + queries

    def set_chart(self, zone_id: int, chart: Chart, shape: Shape) -> None:
        """Send a zone's chart in full, empty, or as null."""
        self._change(zone_id).shapes[chart] = shape

    def true_queries(self, zone_id: int, day: date) -> int:
        """Return the true number of a zone's queries of a day so far."""
        return sum(self.true_routed(zone_id, day))

    def true_routed(self, zone_id: int, day: date) -> tuple[int, int]:
        """Return the true queries of a day so far as (with normal routing, with smart routing)."""
        changes, traffic = self._character(zone_id)
        queries = _counted(changes, traffic, number_of(day), self._clock.now())
        smart = traffic.smart_part(queries)
        return queries - smart, smart

    def statistics(self, zone_id: int, date_from: float | None = None, date_to: float | None = None) -> dict[str, Any]:
        """Answer with a zone's statistics: of the last 30 days unless both ends of a window are given."""
        changes, traffic = self._character(zone_id)
        now = self._clock.now()
        start, end = date_from, date_to
        if start is None or end is None:
            start, end = now - _WINDOW_DAYS * DAY, now
        start = max(start, (day_number(now) - _HISTORY_DAYS) * DAY)
        # A window that ends on a date includes all of that date.
        limit = min(now, end + DAY if end % DAY == 0 else end)
        # Key → queries, and those with smart routing.
        buckets: dict[str, tuple[int, int]] = {}
        for day in range(day_number(start), day_number(min(end, now)) + 1):
            upper = _counted(changes, traffic, day, min((day + 1) * DAY, limit))
            # The oldest bucket begins with the window. There are no queries outside of the window or in the future.
            lower = min(upper, _counted(changes, traffic, day, start) if start > day * DAY else 0)
            buckets[f"{date_of(day)}T00:00:00Z"] = upper - lower, traffic.smart_part(upper) - traffic.smart_part(lower)
        return self._answer(changes, traffic, buckets)

    def _answer(self, changes: _Changes, traffic: _Traffic, buckets: dict[str, tuple[int, int]]) -> dict[str, Any]:
        place = self.zones.place(traffic.zone_id) % _VARIETY
        shapes = {**seed("dns", "shapes").get(place, {}), **changes.shapes}

        def chart(which: Chart, content: dict[str, int]) -> dict[str, float] | None:
            shape = shapes.get(which, Shape.FULL)
            if shape != Shape.FULL:
                return None if shape == Shape.NULL else {}
            # The platform sends doubles with and without a fraction, and zero as `0`.
            if which is Chart.RECORD_TYPES or place % 2 == 0:
                return dict(content)
            return {key: float(value) if value else 0 for key, value in content.items()}

        everything = sum(total for total, _ in buckets.values())
        normal = {key: total - smart for key, (total, smart) in buckets.items()}
        return {
            "TotalQueriesServed": everything,
            "QueriesServedChart": chart(Chart.QUERIES, {key: total for key, (total, _) in buckets.items()}),
            "NormalQueriesServedChart": chart(Chart.NORMAL, normal),
            "SmartQueriesServedChart": chart(Chart.SMART, {key: smart for key, (_, smart) in buckets.items()}),
            "QueriesByTypeChart": chart(Chart.RECORD_TYPES, traffic.by_record_type(everything) if buckets else {}),
        }

    def _character(self, zone_id: int) -> tuple[_Changes, _Traffic]:
        seeded = seed("dns", "shapes").get(self.zones.place(zone_id) % _VARIETY, {})
        changes, noise = self._changes.get(zone_id) or _Changes(), self._noise
        smartly = Chart.SMART not in seeded if changes.routes_smartly is None else changes.routes_smartly
        return changes, _Traffic(
            zone_id,
            volume=20_000 * 250 ** noise.fraction(_VOLUME, zone_id) if changes.volume is None else changes.volume,
            amplitude=noise.between(0.4, 0.8, _AMPLITUDE, zone_id),
            peak=noise.between(0.45, 0.75, _PEAK, zone_id),
            smart_share=noise.between(0.05, 0.6, _SMART, zone_id) if smartly else 0.0,
            record_types=seed("dns", "record_types")[zone_id % 3],
            daily=noise.narrowed(_DAILY, zone_id),
        )

    def _change(self, zone_id: int) -> _Changes:
        return self._changes[self.zones.known(zone_id)]


def _counted(changes: _Changes, traffic: _Traffic, day: int, moment: float) -> int:
    part = (moment - day * DAY) / DAY
    if part < 0:
        return 0
    queries = traffic.served(day, part)
    return max(0, queries + changes.added.get(day, 0)) if changes.added else queries
