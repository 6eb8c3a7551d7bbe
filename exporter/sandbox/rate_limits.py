"""The rate limits of the account, and their breaches."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, NamedTuple

from exporter.sandbox.noise import Noise
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import DAY, date_number, date_of, day_number
from exporter.sandbox.world_clock import WorldClock

WINDOW_DAYS: Final = 28
_SLOTS_A_DAY: Final = 4
_SLOT_SECONDS: Final = DAY // _SLOTS_A_DAY
# The latest start of a burst within its slot: each burst ends before its slot does, so its breaches fall on one day.
_LATEST_BURST_SECONDS: Final = _SLOT_SECONDS * 0.8
_LONGEST_BURST_SECONDS: Final = 3_600
# The purposes of numbers from `Noise`. The purpose is the first of `parts`, so each purpose has independent numbers.
_HAPPENS, _SIZE, _BEGINS, _LASTS = range(1, 5)
_OPENING_BURST_SECONDS: Final = 1_800.0
_SHORTEST_BURST_SECONDS: Final = 600.0
# The shortest burst in which breaches are too rare to make an alert fire, if the world's clock has normal speed.
_SHORTEST_HEALTHY_BURST_SECONDS: Final = 1_800.0


class BreachNumbers(NamedTuple):
    """Numbers of logged, challenged and blocked breaches."""

    logged: int = 0
    challenged: int = 0
    blocked: int = 0

    @property
    def total(self) -> int:
        """The number of all breaches."""
        return sum(self)

    @classmethod
    def summed(cls, several: Sequence["BreachNumbers"]) -> "BreachNumbers":
        """Return the sum of several `BreachNumbers`; a negative number in the sum becomes 0."""
        return cls(*(max(0, sum(numbers)) for numbers in zip(*several, strict=True)))

    def answer(self) -> dict[str, int]:
        """Return the numbers as the platform sends them."""
        return {
            "totalBreaches": self.total,
            "loggedBreaches": self.logged,
            "challengedBreaches": self.challenged,
            "blockedBreaches": self.blocked,
        }


@dataclass(slots=True)
class RateLimit:
    """A rate limit of a shield zone; `added` is number of a day → breaches that events have added to the day."""

    limit_id: int
    name: str
    shield_zone_id: int
    is_quiet: bool = False  # only events cause breaches
    has_plain_days: bool = False  # the answers give one number for a day, instead of counts by action
    omits_days: bool = False  # the answers contain no days
    added: defaultdict[int, list[BreachNumbers]] = field(default_factory=lambda: defaultdict(list))


class RateLimits:
    """The account's rate limits; in a healthy world, a burst of breaches lasts half an hour or more.

    The methods raise KeyError for the id of an unknown rate limit.
    """

    def __init__(self, noise: Noise, clock: WorldClock, shield_zones: int, *, healthy: bool) -> None:
        self._shortest_burst = _SHORTEST_HEALTHY_BURST_SECONDS if healthy else _SHORTEST_BURST_SECONDS
        self._noise = noise
        self._clock = clock
        self._began_at = clock.now()
        self.limits: dict[int, RateLimit] = {}
        for zone in range(1, shield_zones + 1):
            for place, name in enumerate(seed("names", "rate_limits")):
                limit = RateLimit(2 * zone + 1 + place, name, zone)  # the first zone has the ids 3 and 4
                # The second rate limits of the second and the third zone are special.
                limit.is_quiet = (zone, place) == (2, 1)
                limit.omits_days = limit.is_quiet
                limit.has_plain_days = (zone, place) == (3, 1)
                self.limits[limit.limit_id] = limit

    def add_breaches(
        self, rate_limit_id: int, logged: int = 0, challenged: int = 0, blocked: int = 100, day: date | None = None
    ) -> None:
        """Add breaches of a rate limit to a day, by default today."""
        number = day_number(self._clock.now()) if day is None else date_number(day)
        self.limits[rate_limit_id].added[number].append(BreachNumbers(logged, challenged, blocked))

    def true_breaches(self, limit_id: int, day: date) -> BreachNumbers:
        """Return the breaches of a rate limit on a day, until the world's present time."""
        return self._breaches_until(self.limits[limit_id], date_number(day), self._clock.now())

    def metrics(self, limit_id: int) -> dict[str, Any]:
        """Return a rate limit's `overview` and days as the platform sends them."""
        limit = self.limits[limit_id]
        now = self._clock.now()
        today = day_number(now)
        counted = {date_of(n): self._breaches_until(limit, n, now) for n in range(today - WINDOW_DAYS + 1, today + 1)}
        # The platform omits days without a breach.
        shown = {day: breaches for day, breaches in counted.items() if breaches.total}
        days = {
            f"{day:%d-%m-%Y}": breaches.total if limit.has_plain_days else breaches.answer()
            for day, breaches in shown.items()
        }
        return {
            "overview": BreachNumbers.summed(list(shown.values())).answer(),
            "ratelimitOverviewPastTwentyEightDays": None if limit.omits_days else days,
        }

    def _breaches_until(self, limit: RateLimit, day: int, now: float) -> BreachNumbers:
        """Return the breaches of a day until a time in unix seconds, with the breaches that events added."""
        if now < day * DAY:
            return BreachNumbers()
        breaches = 0 if limit.is_quiet else self._breaches_in_bursts(limit.limit_id, day, now)
        return BreachNumbers.summed([_divided_by_action(limit, breaches), *limit.added.get(day, ())])

    def _breaches_in_bursts(self, limit_id: int, day: int, now: float) -> int:
        """Return the number of breaches in the bursts of a day until a time in unix seconds."""
        # A burst, with a breach every two seconds, lasts from a minute before `_began_at` to half an hour after it.
        begins = max(self._began_at - 60, day * DAY)
        ends = min(self._began_at + _OPENING_BURST_SECONDS, (day + 1) * DAY, now)
        opening_breaches = max(0, int((ends - begins) / 2))
        slots = range(day * _SLOTS_A_DAY, (day + 1) * _SLOTS_A_DAY)
        return opening_breaches + sum(self._breaches_in_burst(limit_id, slot, now) for slot in slots)

    def _breaches_in_burst(self, limit_id: int, slot: int, now: float) -> int:
        """Return how many breaches the burst of a slot, a quarter of a day, has until `now`; 0 if there is no burst."""
        if not self._noise.chance(0.3, _HAPPENS, limit_id, slot):
            return 0
        begins = slot * _SLOT_SECONDS + self._noise.between(0, _LATEST_BURST_SECONDS, _BEGINS, limit_id, slot)
        lasts = self._noise.between(self._shortest_burst, _LONGEST_BURST_SECONDS, _LASTS, limit_id, slot)
        size = 20 * (50 ** self._noise.fraction(_SIZE, limit_id, slot))  # from 20 to 1,000, mostly small
        return int(size * min(1.0, max(0.0, (now - begins) / lasts)))


def _divided_by_action(limit: RateLimit, breaches: int) -> BreachNumbers:
    """Divide a number of breaches among the actions; if the number rises, no action's count falls."""
    # Of every ten breaches, the first are logged, the next are challenged, and the last are blocked.
    mixes = seed("shield", "mixes")
    logged, challenged, blocked = mixes[limit.limit_id % len(mixes)]
    tens, rest = divmod(breaches, logged + challenged + blocked)
    return BreachNumbers(
        tens * logged + min(rest, logged),
        tens * challenged + min(max(0, rest - logged), challenged),
        tens * blocked + max(0, rest - logged - challenged),
    )
