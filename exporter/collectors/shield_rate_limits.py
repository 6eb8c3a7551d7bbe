"""Rate-limit breaches (interface document, RateLimitMetrics)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.collectors.collector import ACCOUNT, Context, Label, TargetCollector
from exporter.metric import DayBuckets, Metric
from exporter.platform.api import shield
from exporter.platform.api.charts import calendar_day
from exporter.platform.api.shield_models import BreachCounts
from exporter.platform.operation import Answer
from exporter.targets.target import Target

ACTIONS: Mapping[str, Callable[[BreachCounts], int | None]] = {
    "logged": lambda counts: counts.logged_breaches,
    "challenged": lambda counts: counts.challenged_breaches,
    "blocked": lambda counts: counts.blocked_breaches,
}


@dataclass(frozen=True, slots=True)
class Breaches:
    """A rate limit's breaches: over the window, and by UTC day and action.

    Attributes:
        days: action → day → count; None where the map's days are plain numbers without actions.
        named: the days that the map names.
        charted: False where there is no map.
        today: the ordinal of the platform's UTC day.
    """

    overview: BreachCounts | None
    days: Mapping[str, Mapping[int, float]] | None
    named: frozenset[int]
    charted: bool
    today: int

    def window(self) -> dict[str, int | None] | None:
        """Breaches over the window by action."""
        if self.overview is None:
            return None
        return {action: count(self.overview) for action, count in ACTIONS.items()}

    def day(self) -> dict[str, float | None] | None:
        """Today's breaches by action: 0 where the map does not name the day."""
        if self.days is None or not self.charted:
            return None
        unnamed = None if self.today in self.named else 0
        return {action: days.get(self.today, unnamed) for action, days in self.days.items()}

    def buckets(self) -> dict[str, DayBuckets] | None:
        """What the ledger counts, by action."""
        if self.days is None:
            return None
        return {action: DayBuckets(days, charted=self.charted) for action, days in self.days.items()}


def _by_action(chart: Mapping[str, BreachCounts | float | None]) -> Mapping[str, Mapping[int, float]] | None:
    shapes = {type(counts) for counts in chart.values() if counts is not None}
    if shapes and BreachCounts not in shapes:
        return None
    days: dict[str, dict[int, float]] = {action: {} for action in ACTIONS}
    for key, counts in chart.items():
        day = calendar_day(key)
        if day is None or not isinstance(counts, BreachCounts):
            continue
        for action, count in ACTIONS.items():
            value = count(counts)
            if value is not None:
                days[action][day] = days[action].get(day, 0) + value
    return days


async def _fetch(context: Context, target: Target) -> Answer[Breaches]:
    answer = await shield.rate_limit(context.caller, int(target.id))
    metrics = answer.value
    days = metrics.days or {}
    named = frozenset(day for day in map(calendar_day, days) if day is not None)
    breaches = Breaches(
        overview=metrics.overview,
        days=_by_action(days),
        named=named,
        # A map of which nothing can be read tells as little as none.
        charted=metrics.days is not None and (not days or bool(named)),
        today=(answer.date or context.now).toordinal(),
    )
    return Answer(breaches, answer.date, answer.raw)


COLLECTOR: TargetCollector[Breaches] = TargetCollector(
    name="shield_rate_limits",
    polls="rate_limit",
    interval=60,
    operations=(shield.RATE_LIMIT,),
    fetch=_fetch,
    labels=(
        ACCOUNT,
        Label("shield_zone_id", lambda target, _: target.attributes.get("shield_zone_id", "")),
        Label("rate_limit_id", lambda target, _: target.id),
        Label("rate_limit", lambda target, _: target.name),
    ),
    metrics=(
        Metric(
            "edge_shield_rate_limit_window_breaches_overall",
            "Breaches of the rate limit in the platform's rolling 28 days (overview.totalBreaches), polled.",
            value=lambda limit: limit.overview.total_breaches if limit.overview is not None else None,
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
            "as last polled.",
            labels=("action",),
            value=lambda limit: limit.day(),
        ),
        Metric(
            "edge_shield_rate_limit_breaches_total",
            "Breaches of the rate limit since the exporter first saw it by action, counted from the days of "
            "ratelimitOverviewPastTwentyEightDays polled.",
            labels=("action",),
            counted=lambda limit: limit.buckets(),
        ),
    ),
)
