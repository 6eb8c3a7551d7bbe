"""DNS traffic: a zone's number of queries until any moment, as a pure function of seed, zone and time."""

import math
from dataclasses import dataclass
from typing import Final

from exporter.sandbox.noise import Noise
from exporter.sandbox.seed import seed

_VOLUME, _DAILY, _AMPLITUDE, _PEAK, _SMART = range(1, 6)
_WEEKEND: Final = frozenset({2, 3})  # days after 1970-01-01, a Thursday


@dataclass(frozen=True, slots=True)
class Habits:
    """The constant properties of a zone's traffic."""

    zone_id: int
    volume: float
    amplitude: float
    peak: float
    smart_share: float
    record_types: dict[str, float]
    daily: Noise


def habits_of(noise: Noise, zone_id: int, *, volume: float | None, routes_smartly: bool) -> Habits:
    """Return how many queries a zone receives, and when; `volume` (queries a day) overrides the seed's figure."""
    return Habits(
        zone_id=zone_id,
        volume=20_000 * 250 ** noise.fraction(_VOLUME, zone_id) if volume is None else volume,
        amplitude=noise.between(0.4, 0.8, _AMPLITUDE, zone_id),
        peak=noise.between(0.45, 0.75, _PEAK, zone_id),
        smart_share=noise.between(0.05, 0.6, _SMART, zone_id) if routes_smartly else 0.0,
        record_types=seed("dns", "record_types")[zone_id % 3],
        daily=noise.narrowed(_DAILY, zone_id),
    )


def served(habits: Habits, day: int, part: float) -> int:
    """Return the queries of a zone from the beginning of a day to a part (0 to 1) of it."""
    if part <= 0.0:
        return 0
    week = 0.7 if day % 7 in _WEEKEND else 1.0
    whole_day = int(habits.volume * week * (0.85 + 0.3 * habits.daily.fraction(day)))
    if part >= 1.0:
        return whole_day
    # The integral of 1 + a * cos(2 pi (x - peak)): it rises from 0 to 1, fastest at the peak.
    turn = 2 * math.pi
    swing = math.sin(turn * (part - habits.peak)) + math.sin(turn * habits.peak)
    return int(whole_day * min(1.0, max(0.0, part + habits.amplitude * swing / turn)))


def smart_part(habits: Habits, queries: int) -> int:
    """Return the number of queries with smart routing; the rest had normal routing."""
    return int(queries * habits.smart_share)


def by_record_type(habits: Habits, queries: int) -> dict[str, int]:
    """Divide queries among the zone's record types: RR type code → number; the numbers add up to the total."""
    parts = {code: int(queries * share) for code, share in habits.record_types.items()}
    parts["1"] += queries - sum(parts.values())
    return parts
