"""A small world whose answers take every form, and the true value of a poll at any moment."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

from exporter.collectors import dns_statistics, scripts, shield_rate_limits
from exporter.collectors.collector import TargetCollector
from exporter.metric import LabelValues
from exporter.sandbox.dns_zones import Chart, KeyFormat, Shape
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock
from exporter.targets.target import Target
from tests.counters.reference import Days, Month, Shapes, days_counter, month_counter, shapes_counter

Poll = Days | Month | Shapes
SeriesKey = tuple[str, LabelValues]
# The sum over actions.
BREACHES = ("edge_shield_rate_limit_breaches_total", ("*",))
Truth = dict[SeriesKey, Poll]


@dataclass
class Watched:
    """A target, how it is polled, and what is known of its polls.

    Attributes:
        path: the path of its request.
        truth: returns the true values of a poll at this moment.
        committed: series → the polls that are on disk, of the platform at the address.
        address: where the last of them was answered; empty before the first.
        pending: the polls that are counted but not on disk yet, each with its address, and whether its 0 was served for
            long enough.
        is_anew: whether the counters are 0 on disk because the address has changed.
        zero_since: since when this process has served that 0, on the monotonic clock; None if it has not.
        served: what was served last.
        expected: what should have been served.
        highest: the highest value that was ever served.
        is_counted: whether a poll of this run is on disk; nothing is served before.
    """

    collector: TargetCollector[Any]
    target: Target
    path: str
    truth: Callable[[], Truth]
    committed: dict[SeriesKey, list[Poll]] = field(default_factory=dict)
    address: str = ""
    pending: list[tuple[Truth, str, bool]] = field(default_factory=list)
    is_anew: bool = False
    zero_since: float | None = None
    served: dict[SeriesKey, float] = field(default_factory=dict)
    expected: dict[SeriesKey, Fraction] = field(default_factory=dict)
    highest: dict[SeriesKey, float] = field(default_factory=dict)
    is_counted: bool = False

    def commit(self) -> None:
        """Mark all polls as saved on disk."""
        self.is_counted = self.is_counted or bool(self.pending)
        for poll, address, is_over in self.pending:
            if is_over:
                self.is_anew = False
            if address != self.address:
                self.committed, self.highest, self.is_anew, self.address = {}, {}, self.address != "", address
            for series, seen in poll.items():
                self.committed.setdefault(series, []).append(seen)
        self.pending = []

    def by_the_rules(self) -> dict[SeriesKey, Fraction]:
        """Compute what the rules give for the saved polls; for a map that had both shapes, the sum over its actions."""
        shapes = [poll for poll in self.committed.get(BREACHES, ()) if isinstance(poll, Shapes)]
        if any(poll.whole is not None for poll in shapes):
            found: dict[SeriesKey, Fraction] = {BREACHES: Fraction(shapes_counter(shapes))}
        else:
            found = {series: _by_the_rules(polls) for series, polls in self.committed.items() if series != BREACHES}
        return dict.fromkeys(found, Fraction(0)) if self.is_anew else found


def _by_the_rules(polls: list[Poll]) -> Fraction:
    days = [poll for poll in polls if isinstance(poll, Days)]
    return Fraction(days_counter(days)) if days else month_counter([poll for poll in polls if isinstance(poll, Month)])


class KnownWorld:
    """A zone, a rate limit and a script, and the present forms of their answers.

    Args:
        clock: the world's clock.
        seed: selects the world.
        busy: whether zone and rate limit have simulated traffic; otherwise only the traffic that a test adds.
    """

    def __init__(self, clock: WorldClock, seed: int, *, busy: bool) -> None:
        self.clock = clock
        self.world = World(seed=seed, clock=clock, dns_zones=0, scripts=0, shield_zones=1)
        self.zone = self.world.dns.add_zone("shop.example", queries_a_day=4000 if busy else 0)
        self.limit = self.world.rate_limits.add_limit("login", 1, quiet=not busy)
        self.script = self.world.scripts.add_script("router", growth=1.0)
        self.shapes = dict.fromkeys((Chart.QUERIES, Chart.NORMAL, Chart.SMART), Shape.FULL)
        self.window, self.hours = 30, 24
        self.hidden: dict[str, set[int]] = {"zone": set(), "limit": set()}
        self.no_map = self.plain = False

    def now(self) -> datetime:
        """Return the world's time."""
        return datetime.fromtimestamp(self.clock.now(), UTC)

    def day(self, back: int) -> date:
        """Return a day before today."""
        return date.fromordinal(self.now().toordinal() - back)

    def watched(self) -> dict[str, Watched]:
        """Return the polled targets by short names."""
        limit = Target("main", "rate_limit", str(self.limit), "login", {"shield_zone_id": "1"})
        return {
            "zone": Watched(
                dns_statistics.COLLECTOR,
                Target("main", "dns_zone", str(self.zone), "shop.example"),
                f"/dnszone/{self.zone}/statistics",
                self.true_queries,
            ),
            "limit": Watched(
                shield_rate_limits.COLLECTOR,
                limit,
                f"/shield/metrics/rate-limit/{self.limit}",
                self.true_breaches,
            ),
            "script": Watched(
                scripts.COLLECTOR,
                Target("main", "script", str(self.script), "router"),
                f"/compute/script/{self.script}",
                self.true_month,
            ),
        }

    def _days(self, shown: int, hidden: set[int], count: Callable[[date], int]) -> Days:
        now = self.now()
        today = now.toordinal()
        days = (day for day in range(today - shown + 1, today + 1) if day not in hidden)
        return Days(now, {day: count(date.fromordinal(day)) for day in days})

    def true_queries(self) -> Truth:
        """Return the zone's days that its charts show."""
        books = self.world.dns

        def routed(index: int) -> Callable[[date], int]:
            return lambda day: books.true_routed(self.zone, day)[index]

        counts: dict[SeriesKey, tuple[Chart, Callable[[date], int]]] = {
            ("edge_dns_queries_total", ()): (Chart.QUERIES, lambda day: books.true_queries(self.zone, day)),
            ("edge_dns_routed_queries_total", ("normal",)): (Chart.NORMAL, routed(0)),
            ("edge_dns_routed_queries_total", ("smart",)): (Chart.SMART, routed(1)),
        }
        # The window begins within a day, or at its first moment: 30 days back and today are 31 dates.
        return {
            series: self._days(self.window + 1, self.hidden["zone"], count)
            if self.shapes[chart] is Shape.FULL
            else Days(self.now(), {})
            for series, (chart, count) in counts.items()
        }

    def true_breaches(self) -> Truth:
        """Return the rate limit's days by action; a day without any breach is not in the map."""
        books = self.world.rate_limits

        def of_action(action: str) -> Callable[[date], int]:
            return lambda day: int(getattr(books.true_breaches(self.limit, day), action))

        listed = self._days(28, self.hidden["limit"], of_action("total"))
        found: Truth = {}
        parts: dict[str, dict[int, int]] = {}
        for action in ("logged", "challenged", "blocked"):
            days = self._days(28, self.hidden["limit"], of_action(action))
            parts[action] = {day: count for day, count in days.shown.items() if listed.shown[day] and not self.no_map}
            found["edge_shield_rate_limit_breaches_total", (action,)] = Days(days.now, parts[action])
        whole = {day: count for day, count in listed.shown.items() if count}
        # Nothing is plain about a map without days.
        is_plain = self.plain and whole and not self.no_map
        found[BREACHES] = Shapes(self.now(), None, whole) if is_plain else Shapes(self.now(), parts, None)
        return found

    def true_month(self) -> Truth:
        """Return the script's month-to-date value."""
        month, now = self.world.scripts.true_month(self.script), self.now()
        return {
            ("edge_script_cost_dollars_total", ()): Month(now, month.cost),
            ("edge_script_requests_total", ()): Month(now, month.requests),
            ("edge_script_cpu_seconds_total", ()): Month(now, month.cpu_ms / 1000),
        }

    def hide_day(self, what: str, back: int) -> None:
        """Leave a day out of the answers."""
        day = self.day(back)
        self.hidden[what].add(day.toordinal())
        if what == "zone":
            self.world.dns.drop_day(self.zone, day)
        else:
            self.world.rate_limits.limits[self.limit].dropped.add(day)

    def show_all_days(self) -> None:
        """Show all days in the answers again."""
        for day in self.hidden["zone"]:
            self.world.dns.restore_day(self.zone, date.fromordinal(day))
        self.world.rate_limits.limits[self.limit].dropped.clear()
        self.hidden = {"zone": set(), "limit": set()}

    def set_shape(self, chart: Chart, shape: Shape) -> None:
        """Send a chart in full, empty, or as null."""
        self.shapes[chart] = shape
        self.world.dns.set_chart(self.zone, chart, shape)

    def set_no_map(self, *, missing: bool) -> None:
        """Send null instead of the map of breaches, or the map again."""
        self.no_map = missing
        self.world.rate_limits.limits[self.limit].no_days = missing

    def set_plain(self, *, plain: bool) -> None:
        """Send the days of the map of breaches as plain numbers, or as objects."""
        self.plain = plain
        self.world.rate_limits.limits[self.limit].plain_days = plain

    def set_keys(self, form: KeyFormat, window: int) -> None:
        """Write days in another form, and send a window of this many days and today."""
        # A date alone cannot say which hours a bucket holds.
        if form is KeyFormat.DATE:
            self.set_hours(24)
        self.window = window
        self.world.dns.set_key_format(self.zone, form)
        self.world.dns.set_window_days(self.zone, window)

    def set_hours(self, hours: int) -> None:
        """Set the length of buckets in hours."""
        self.hours = hours
        self.world.dns.set_key_format(self.zone, KeyFormat.MIDNIGHT)
        self.world.dns.set_bucket_hours(self.zone, hours)
