"""Rate-limit breaches (interface document, RateLimitMetrics)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.collectors.collector import Context, TargetCollector, identity
from exporter.metric import DayBuckets, Metric
from exporter.platform.api import shield
from exporter.platform.api.charts import bucket_time
from exporter.platform.api.shield_models import BreachCounts
from exporter.platform.operation import Answer, Request
from exporter.targets.target import Target

ACTIONS: Mapping[str, Callable[[BreachCounts], int | None]] = {
    "logged": lambda counts: counts.logged_breaches,
    "challenged": lambda counts: counts.challenged_breaches,
    "blocked": lambda counts: counts.blocked_breaches,
}

# The value of the label `action` for days that are plain numbers instead of counts by action.
UNCLASSIFIED = "unclassified"


@dataclass(frozen=True, slots=True)
class Breaches:
    """The breaches of a rate limit: in the whole window, and by UTC day and action.

    Attributes:
        overview: the breaches in the whole window; None if the answer has no overview.
        days: action → ordinal of a UTC day → count; None if the answer has no usable chart of days.
        listed: the ordinals of the days in the chart, which may omit days without a breach.
        today: the ordinal of the current UTC day.
    """

    overview: BreachCounts | None
    days: Mapping[str, Mapping[int, float]] | None
    listed: frozenset[int]
    today: int

    def window_by_action(self) -> Mapping[str, float | None] | None:
        """Return the breaches in the window by action; None if the answer has no overview."""
        return None if self.overview is None else _counts_by_action(self.overview)

    def today_by_action(self) -> dict[str, float | None] | None:
        """Return today's breaches by action; None without a usable chart.

        A value is 0 if the chart omits today, and None if the chart has today without a readable count for the action.
        """
        if self.days is None:
            return None
        if_missing = None if self.today in self.listed else 0
        return {action: counts.get(self.today, if_missing) for action, counts in self.days.items()}

    def sources_by_action(self) -> dict[str, DayBuckets]:
        """Return action → the source for the ledger; without a usable chart, the sources have no days."""
        if self.days is None:
            return dict.fromkeys(ACTIONS, DayBuckets.of(None))
        # Unclassified counts are sums over all actions.
        return {action: DayBuckets(counts, is_whole=action == UNCLASSIFIED) for action, counts in self.days.items()}


def _days_by_action(chart: Mapping[str, BreachCounts | float | None]) -> Mapping[str, Mapping[int, float]]:
    """Return action → ordinal of a UTC day → count; `UNCLASSIFIED` is the only action if all days are plain numbers."""
    by_action: dict[str, dict[int, float]] = {action: {} for action in ACTIONS}
    for key, counts in chart.items():
        moment = bucket_time(key)
        if moment is None:
            continue
        day = moment.toordinal()
        for action, count in _counts_by_action(counts).items():
            if count is not None:
                days = by_action.setdefault(action, {})
                days[day] = days.get(day, 0) + count
    has_actions = any(isinstance(counts, BreachCounts) for counts in chart.values())
    if UNCLASSIFIED in by_action and not has_actions:
        return {UNCLASSIFIED: by_action[UNCLASSIFIED]}
    return by_action


def _counts_by_action(counts: BreachCounts | float | None) -> Mapping[str, float | None]:
    if isinstance(counts, BreachCounts):
        return {action: count_of(counts) for action, count_of in ACTIONS.items()}
    return {UNCLASSIFIED: counts}


async def _fetch(context: Context, target: Target) -> Answer[Breaches]:
    answer = await context.caller.call(Request(shield.RATE_LIMIT, {"id": int(target.id)}))
    chart = answer.value.days
    moments = [bucket_time(key) for key in chart or ()]
    listed = frozenset(moment.toordinal() for moment in moments if moment is not None)
    if chart and not listed:
        # A chart in which no key is a day is treated like a missing one.
        chart = None
    breaches = Breaches(
        overview=answer.value.overview,
        days=None if chart is None else _days_by_action(chart),
        listed=listed,
        today=(answer.date or context.now).toordinal(),
    )
    return Answer(breaches, answer.date)


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
            value=lambda limit: None if limit.overview is None else limit.overview.total_breaches,
        ),
        Metric(
            "edge_shield_rate_limit_window_breaches",
            "Breaches of the rate limit in the rolling 28 days by action (overview), polled.",
            labels=("action",),
            value=lambda limit: limit.window_by_action(),
        ),
        Metric(
            "edge_shield_rate_limit_day_breaches",
            "Breaches of the rate limit on the current UTC day by action (ratelimitOverviewPastTwentyEightDays), "
            "polled; action is unclassified if the platform reports no actions.",
            labels=("action",),
            value=lambda limit: limit.today_by_action(),
        ),
        Metric(
            "edge_shield_rate_limit_breaches_total",
            "Breaches by action since the exporter first saw the rate limit, counted from "
            "ratelimitOverviewPastTwentyEightDays, polled; action is unclassified if the platform reports no actions.",
            labels=("action",),
            counted=lambda limit: limit.sources_by_action(),
        ),
    ),
)
