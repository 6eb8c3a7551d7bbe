"""Rate-limit breaches (interface document, RateLimitMetrics)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.collectors.collector import Context, TargetCollector, identity
from exporter.metric import DayBuckets, Metric, as_count
from exporter.platform.api import shield
from exporter.platform.api.shield_models import BreachCounts
from exporter.platform.operation import Answer, Request
from exporter.platform.wire import calendar_day
from exporter.targets.target import Target

ACTIONS: Mapping[str, Callable[[BreachCounts], int | None]] = {
    "logged": lambda counts: counts.logged_breaches,
    "challenged": lambda counts: counts.challenged_breaches,
    "blocked": lambda counts: counts.blocked_breaches,
}

# The `action` label for days that are plain numbers: the interface document does not define a day's shape.
UNCLASSIFIED = "unclassified"


@dataclass(frozen=True, slots=True)
class Breaches:
    """The breaches of a rate limit: in the window, and by UTC day and action.

    Attributes:
        days: action → day → count; None if there is no map, or none of its days can be read.
        is_plain: whether all days of the map are plain numbers.
        named: the days in the map.
        today: the ordinal of the platform's UTC day.
    """

    overview: BreachCounts | None
    days: Mapping[str, Mapping[int, float]] | None
    is_plain: bool
    named: frozenset[int]
    today: int

    def window(self) -> dict[str, float | None] | None:
        """Return the breaches in the window by action."""
        if self.overview is None:
            return None
        return {action: as_count(count(self.overview)) for action, count in ACTIONS.items()}

    def day(self) -> dict[str, float | None] | None:
        """Return today's breaches by action; 0 if the map does not contain today."""
        if self.days is None:
            return None
        if self.today in self.named:
            return {action: days.get(self.today) for action, days in self.days.items()}
        return dict.fromkeys((UNCLASSIFIED,) if self.is_plain else ACTIONS, 0)

    def buckets(self) -> dict[str, DayBuckets]:
        """Return the day counts for the ledger, by action."""
        days = self.days or {}
        plain = (UNCLASSIFIED,) if days.get(UNCLASSIFIED) else ()
        return {
            action: DayBuckets(days.get(action, {}), charted=self.days is not None, is_whole=action == UNCLASSIFIED)
            for action in (plain if self.is_plain else (*ACTIONS, *plain))
        }


def _by_action(chart: Mapping[str, BreachCounts | float | None]) -> Mapping[str, Mapping[int, float]]:
    days: dict[str, dict[int, float]] = {action: {} for action in (*ACTIONS, UNCLASSIFIED)}
    for key, counts in chart.items():
        day = calendar_day(key)
        if day is None or counts is None:
            continue
        found: dict[str, float | None] = (
            {UNCLASSIFIED: counts}
            if not isinstance(counts, BreachCounts)
            else {action: count(counts) for action, count in ACTIONS.items()}
        )
        for action, count in found.items():
            value = as_count(count)
            if value is not None:
                days[action][day] = days[action].get(day, 0) + value
    return days


async def _fetch(context: Context, target: Target) -> Answer[Breaches]:
    answer = await context.caller.call(Request(shield.RATE_LIMIT, {"id": int(target.id)}))
    metrics = answer.value
    chart = metrics.days or {}
    named = frozenset(day for day in map(calendar_day, chart) if day is not None)
    # If no key can be read as a day, the map is treated like a missing one.
    is_charted = metrics.days is not None and (not chart or bool(named))
    counted = [counts for counts in chart.values() if counts is not None]
    has_actions = any(isinstance(counts, BreachCounts) for counts in counted)
    breaches = Breaches(
        overview=metrics.overview,
        days=_by_action(chart) if is_charted else None,
        is_plain=bool(counted) and not has_actions,
        named=named,
        today=(answer.date or context.now).toordinal(),
    )
    return Answer(breaches, answer.date, answer.raw)


COLLECTOR: TargetCollector[Breaches] = TargetCollector(
    name="shield_rate_limits",
    polls="rate_limit",
    interval=60,
    operations=(shield.RATE_LIMIT,),
    fetch=_fetch,
    labels=identity("rate_limit_id", "rate_limit", within="shield_zone_id"),
    metrics=(
        Metric(
            "edge_shield_rate_limit_window_breaches_overall",
            "Breaches of the rate limit in the platform's rolling 28 days (overview.totalBreaches), polled.",
            value=lambda limit: as_count(limit.overview.total_breaches) if limit.overview is not None else None,
        ),
        Metric(
            "edge_shield_rate_limit_window_breaches",
            "Breaches of the rate limit in the rolling 28 days by action (overview), polled.",
            labels=("action",),
            value=lambda limit: limit.window(),
        ),
        Metric(
            "edge_shield_rate_limit_day_breaches",
            "Breaches of the rate limit on the current UTC day by action (ratelimitOverviewPastTwentyEightDays), "
            "as last polled; unclassified where days are plain numbers.",
            labels=("action",),
            value=lambda limit: limit.day(),
        ),
        Metric(
            "edge_shield_rate_limit_breaches_total",
            "Breaches of the rate limit since the exporter first saw it by action, counted from the days of "
            "ratelimitOverviewPastTwentyEightDays polled; unclassified where days are plain numbers.",
            labels=("action",),
            counted=lambda limit: limit.buckets(),
        ),
    ),
)
