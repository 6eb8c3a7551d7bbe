"""The DNS zones of the account, and the statistics of their simulated traffic."""

import math
from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from exporter.sandbox.noise import Noise
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import DAY, date_number, date_of, day_number
from exporter.sandbox.world_clock import WorldClock

FIRST_ZONE_ID: Final = 101
_HISTORY_DAYS: Final = 1_000  # charts do not contain earlier days
_WINDOW_DAYS: Final = 30  # the days of a chart, unless the request has both ends of a window
# The purposes of numbers from `Noise`. The purpose is the first of `parts`, so each purpose has independent numbers.
_VOLUME, _DAILY, _AMPLITUDE, _PEAK, _SMART = range(1, 6)
# Days of the week, counted from Thursday, the day of 1970-01-01.
_WEEKEND: Final = frozenset({2, 3})
# The shape of a zone's answers depends on the zone's `ResourceIds.place` modulo this number.
_VARIETY: Final = 12


@dataclass(frozen=True, slots=True)
class _Traffic:
    """The constant properties of a zone's traffic."""

    zone_id: int
    volume: float  # queries of an average weekday
    amplitude: float  # at the peak, the rate of queries is (1 + amplitude) times the average
    peak: float  # a time of the day; 0.5 is noon
    smart_share: float
    record_types: dict[str, float]  # RR type code → share
    day_noise: Noise

    def served(self, day: int, part: float) -> int:
        """Return the number of queries of a day until `part`, a fraction of the day, has passed; all from 1 on."""
        weekend_factor = 0.7 if day % 7 in _WEEKEND else 1.0
        whole_day = int(self.volume * weekend_factor * (0.85 + 0.3 * self.day_noise.fraction(day)))
        if part >= 1.0:
            return whole_day
        # The integral of 1 + a * cos(2 pi (x - peak)): it rises from 0 to 1, fastest at the peak.
        turn = 2 * math.pi
        swing = math.sin(turn * (part - self.peak)) + math.sin(turn * self.peak)
        return int(whole_day * (part + self.amplitude * swing / turn))

    def by_record_type(self, queries: int) -> dict[str, int]:
        """Return RR type code → number of queries; the numbers add up to `queries`."""
        parts = {code: int(queries * share) for code, share in self.record_types.items()}
        parts["1"] += queries - sum(parts.values())  # type A gets what rounding has left over
        return parts


class DnsZones:
    """The account's DNS zones and their queries.

    The methods except `add_zone` raise KeyError for the id of an unknown zone.
    """

    def __init__(self, noise: Noise, clock: WorldClock, count: int) -> None:
        self.zones = ResourceIds(FIRST_ZONE_ID, count, seed("names", "dns_zones"), ".example")
        self._clock = clock
        self._noise = noise
        # Id of a zone → number of a day → the sum of what `add_queries` has added to the day.
        self._added: dict[int, Counter[int]] = {}

    def add_zone(self, name: str, zone_id: int | None = None) -> int:
        """Add a zone and return its id."""
        return self.zones.add(name, zone_id)

    def remove_zone(self, zone_id: int) -> None:
        """Remove a zone."""
        self.zones.remove(zone_id)
        self._added.pop(zone_id, None)

    def rename_zone(self, zone_id: int, name: str) -> None:
        """Rename a zone."""
        self.zones.rename(zone_id, name)

    def add_queries(self, zone_id: int, queries: int, day: date | None = None) -> None:
        """Add queries to a day of a zone, by default today; a negative number removes queries."""
        number = day_number(self._clock.now()) if day is None else date_number(day)
        self._added.setdefault(self.zones.require(zone_id), Counter())[number] += queries

    def true_queries(self, zone_id: int, day: date) -> int:
        """Return the number of a zone's queries on a day, until the world's present time."""
        return self._queries_until(self._traffic(zone_id), date_number(day), self._clock.now())

    def statistics(self, zone_id: int, start: float | None = None, end: float | None = None) -> dict[str, Any]:
        """Return a zone's statistics between two times in unix seconds, as the platform sends them.

        If one or both of the times are None, the last 30 days are used.
        """
        traffic, now = self._traffic(zone_id), self._clock.now()
        if start is None or end is None:
            start, end = now - _WINDOW_DAYS * DAY, now
        start = max(start, (day_number(now) - _HISTORY_DAYS) * DAY)
        ends_at_midnight = end % DAY == 0  # then the day that begins at this midnight is included
        window_end = end + DAY if ends_at_midnight else end
        limit = min(now, window_end)
        queries: dict[str, int] = {}
        smart: dict[str, int] = {}
        for day in range(day_number(start), day_number(min(end, now)) + 1):
            counted = self._queries_until(traffic, day, min((day + 1) * DAY, limit))
            # Queries before the window are left out of its first day. `min` is for a window that begins later than now.
            begins_within_day = start > day * DAY
            left_out = min(counted, self._queries_until(traffic, day, start)) if begins_within_day else 0
            bucket = f"{date_of(day)}T00:00:00Z"
            queries[bucket] = counted - left_out
            smart[bucket] = int(counted * traffic.smart_share) - int(left_out * traffic.smart_share)
        return self._answer(traffic, queries, smart)

    def _answer(self, traffic: _Traffic, queries: dict[str, int], smart: dict[str, int]) -> dict[str, Any]:
        place = self.zones.place(traffic.zone_id) % _VARIETY
        shapes = seed("dns", "shapes").get(place, {})
        has_floats = place % 2 == 1
        normal = {bucket: total - smart[bucket] for bucket, total in queries.items()}
        everything = sum(queries.values())
        by_type = traffic.by_record_type(everything) if queries else {}
        return {
            "TotalQueriesServed": everything,
            "QueriesServedChart": _chart(queries, shapes.get("queries"), has_floats=has_floats),
            "NormalQueriesServedChart": _chart(normal, shapes.get("normal"), has_floats=has_floats),
            "SmartQueriesServedChart": _chart(smart, shapes.get("smart"), has_floats=has_floats),
            "QueriesByTypeChart": _chart(by_type, shapes.get("record_types"), has_floats=False),
        }

    def _traffic(self, zone_id: int) -> _Traffic:
        noise, place = self._noise, self.zones.place(zone_id) % _VARIETY
        has_smart = "smart" not in seed("dns", "shapes").get(place, {})
        shares = seed("dns", "record_types")
        return _Traffic(
            zone_id,
            volume=20_000 * (250 ** noise.fraction(_VOLUME, zone_id)),  # from 20,000 to 5,000,000, mostly small
            amplitude=noise.between(0.4, 0.8, _AMPLITUDE, zone_id),
            peak=noise.between(0.45, 0.75, _PEAK, zone_id),
            smart_share=noise.between(0.05, 0.6, _SMART, zone_id) if has_smart else 0.0,
            record_types=shares[zone_id % len(shares)],
            day_noise=noise.narrowed(_DAILY, zone_id),
        )

    def _queries_until(self, traffic: _Traffic, day: int, moment: float) -> int:
        """Return the number of queries of a day until a time in unix seconds, with the queries that events added."""
        part = (moment - day * DAY) / DAY
        if part < 0:
            return 0
        added = self._added.get(traffic.zone_id, Counter())[day]
        return max(0, traffic.served(day, part) + added)


def _chart(content: dict[str, int], shape: str | None, *, has_floats: bool) -> dict[str, float] | None:
    """Return a chart as the platform sends it; the shape `null` gives null, and `empty` an empty chart."""
    if shape is not None:
        return None if shape == "null" else {}
    if not has_floats:
        return dict(content)
    # The platform sends zero as `0`, not `0.0`.
    return {key: float(value) if value else 0 for key, value in content.items()}
