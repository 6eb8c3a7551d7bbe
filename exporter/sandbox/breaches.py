"""Rate limits: breaches that come in bursts, with pauses between them."""

from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.noise import Noise
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import DAY, date_of, day_number, number_of

WINDOW_DAYS: Final = 28
_SLOTS: Final = 4
_SLOT: Final = DAY // _SLOTS
_HAPPENS, _SIZE, _BEGINS, _LASTS = range(1, 5)
_OPENING_BURST: Final = 1_800.0
_SHORTEST: Final = 600.0
# With this length, the rate of even the largest burst stays below that at which an alert for blocking fires.
_SHORTEST_HEALTHY: Final = 1_800.0


@dataclass(frozen=True, slots=True)
class Breaches:
    """Numbers of logged, challenged and blocked breaches."""

    logged: int = 0
    challenged: int = 0
    blocked: int = 0

    @property
    def total(self) -> int:
        """The sum of them."""
        return self.logged + self.challenged + self.blocked

    def plus(self, other: "Breaches") -> "Breaches":
        """Return the sums, at least 0 each."""
        return Breaches(
            max(0, self.logged + other.logged),
            max(0, self.challenged + other.challenged),
            max(0, self.blocked + other.blocked),
        )

    def answer(self) -> dict[str, int]:
        """Return them as the platform sends them."""
        return {
            "totalBreaches": self.total,
            "loggedBreaches": self.logged,
            "challengedBreaches": self.challenged,
            "blockedBreaches": self.blocked,
        }


@dataclass(slots=True)
class RateLimit:
    """A rate limit of a shield zone."""

    limit_id: int
    name: str
    shield_zone_id: int
    quiet: bool = False
    plain_days: bool = False
    no_days: bool = False
    added: dict[int, Breaches] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)


class RateLimits:
    """The account's rate limits, two for each shield zone; in a healthy world, no burst is short."""

    def __init__(self, noise: Noise, clock: WorldClock, shield_zones: int, *, healthy: bool = False) -> None:
        self._shortest = _SHORTEST_HEALTHY if healthy else _SHORTEST
        self._noise = noise
        self._clock = clock
        self._opening = clock.now()
        self._limits: dict[int, RateLimit] = {}
        for zone in range(1, shield_zones + 1):
            for place, name in enumerate(seed("names", "rate_limits")):
                limit = RateLimit(2 * zone + 1 + place, name, zone)
                # One rate limit has no breaches, and one has days that are plain integers.
                limit.quiet = limit.no_days = zone == 2 and place == 1  # noqa: PLR2004 - the second zone's
                limit.plain_days = zone == 3 and place == 1  # noqa: PLR2004 - the third zone's
                self._limits[limit.limit_id] = limit

    def limits(self, shield_zone_id: int | None = None) -> list[RateLimit]:
        """Return all rate limits, or those of a shield zone."""
        return [one for one in self._limits.values() if shield_zone_id in (None, one.shield_zone_id)]

    def find(self, limit_id: int) -> RateLimit | None:
        """Return a rate limit; None if there is none."""
        return self._limits.get(limit_id)

    def add_limit(self, name: str, shield_zone_id: int, rate_limit_id: int | None = None, *, quiet: bool = True) -> int:
        """Add a rate limit and return its id; a quiet one has only added breaches."""
        new_id = max([*self._limits, 0]) + 1 if rate_limit_id is None else rate_limit_id
        if new_id in self._limits:
            raise ValueError(f"{new_id} already exists")
        self._limits[new_id] = RateLimit(new_id, name, shield_zone_id, quiet=quiet)
        return new_id

    def remove_limit(self, rate_limit_id: int) -> None:
        """Remove a rate limit."""
        del self._limits[rate_limit_id]

    def add_breaches(
        self,
        rate_limit_id: int,
        *,
        logged: int = 0,
        challenged: int = 0,
        blocked: int = 0,
        day: date | None = None,
    ) -> None:
        """Add breaches to today or to another day; negative numbers remove some."""
        number = day_number(self._clock.now()) if day is None else number_of(day)
        limit = self._limits[rate_limit_id]
        before = limit.added.get(number, Breaches())
        limit.added[number] = Breaches(
            before.logged + logged,
            before.challenged + challenged,
            before.blocked + blocked,
        )

    def drop_day(self, limit_id: int, day: date) -> None:
        """Omit a day from a rate limit's answers; its true breaches do not change."""
        self._limits[limit_id].dropped.add(number_of(day))

    def restore_day(self, limit_id: int, day: date) -> None:
        """Include a day in a rate limit's answers again."""
        self._limits[limit_id].dropped.discard(number_of(day))

    def set_plain_days(self, limit_id: int, *, plain: bool) -> None:
        """Send a rate limit's days as plain integers, or as objects."""
        self._limits[limit_id].plain_days = plain

    def set_no_days(self, limit_id: int, *, missing: bool) -> None:
        """Send null in the place of a rate limit's days, or the days."""
        self._limits[limit_id].no_days = missing

    def true_breaches(self, limit_id: int, day: date) -> Breaches:
        """Return the true breaches of a day so far, also of a day that is omitted from the answers."""
        return self._counted(self._limits[limit_id], number_of(day), self._clock.now())

    def metrics(self, limit_id: int) -> dict[str, Any]:
        """Return a rate limit's `overview` and days as the platform sends them."""
        limit = self._limits[limit_id]
        now = self._clock.now()
        today = day_number(now)
        days: dict[str, Any] = {}
        overall = Breaches()
        for day in range(today - WINDOW_DAYS + 1, today + 1):
            counted = self._counted(limit, day, now)
            if day in limit.dropped:
                continue
            overall = overall.plus(counted)
            # The map omits days without a breach.
            if counted.total:
                days[f"{date_of(day):%d-%m-%Y}"] = counted.total if limit.plain_days else counted.answer()
        return {
            "overview": overall.answer(),
            "ratelimitOverviewPastTwentyEightDays": None if limit.no_days else days,
        }

    def _counted(self, limit: RateLimit, day: int, now: float) -> Breaches:
        counted = Breaches()
        if now < day * DAY:
            return counted
        if not limit.quiet:
            for slot in range(_SLOTS):
                counted = counted.plus(self._burst(limit, day * _SLOTS + slot, now))
            counted = counted.plus(self._opening_burst(limit, day, now))
        added = limit.added.get(day)
        return counted if added is None else counted.plus(added)

    def _burst(self, limit: RateLimit, slot: int, now: float) -> Breaches:
        noise, limit_id = self._noise, limit.limit_id
        if not noise.chance(0.3, _HAPPENS, limit_id, slot):
            return Breaches()
        begins = slot * _SLOT + noise.between(0, _SLOT * 0.8, _BEGINS, limit_id, slot)
        lasts = noise.between(self._shortest, 3600, _LASTS, limit_id, slot)
        size = 20 * 50 ** noise.fraction(_SIZE, limit_id, slot)
        return _mixed(limit, int(size * min(1.0, max(0.0, (now - begins) / lasts))))

    def _opening_burst(self, limit: RateLimit, day: int, now: float) -> Breaches:
        # A new world begins with a burst: one breach every two seconds for half an hour.
        begins = max(self._opening - 60, day * DAY)
        ends = min(self._opening + _OPENING_BURST, (day + 1) * DAY, now)
        return _mixed(limit, int((ends - begins) / 2)) if ends > begins else Breaches()


def _mixed(limit: RateLimit, breaches: int) -> Breaches:
    # In ten successive breaches the order of actions is always the same, so that no action's count ever falls.
    logged, challenged, blocked = seed("shield", "mixes")[limit.limit_id % 2]
    tens, rest = divmod(breaches, logged + challenged + blocked)
    return Breaches(
        tens * logged + min(rest, logged),
        tens * challenged + min(max(0, rest - logged), challenged),
        tens * blocked + max(0, rest - logged - challenged),
    )
