"""A counter's past: what of each day the live counter does not count, as samples with timestamps."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from exporter.counters.days import DaySeries
from exporter.metric import FamilyInfo, LabelValues

DAY_MS = 86_400_000
# The platform's clock and that of the scraper may differ a little: what is older than the live series stays before it.
SEAM_MS = 60_000
MINUTE_MS = 60_000
# How far the samples of a day may stand apart, by what a user calls it. Four steps divide twelve hours.
STEPS: Mapping[str, int] = {"15m": 15 * MINUTE_MS, "1h": 60 * MINUTE_MS, "3h": 180 * MINUTE_MS}
PAIR_STEPS = 4
_EPOCH = date(1970, 1, 1).toordinal()
_EXACT = 2.0**53

# Unix milliseconds and the counter's value.
Point = tuple[int, float]


@dataclass(frozen=True, slots=True)
class Span:
    """UTC days as ordinals (`date.toordinal`), the last one included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{date.fromordinal(self.first)} to {date.fromordinal(self.last)}"


def midnight(ordinal: int) -> int:
    """The unix milliseconds at which a UTC day begins."""
    return (ordinal - _EPOCH) * DAY_MS


def day_of(moment: datetime) -> int:
    """The ordinal of a moment's UTC day."""
    return moment.astimezone(UTC).toordinal()


def points(series: DaySeries | None, shown: Mapping[int, float], span: Span, step: int) -> list[Point]:
    """The counter as it would have grown through a span, had it been counted from the span's first day on.

    A day's count is spread evenly over the day. Where the span reaches the live counter's first sight, the last day is
    what the ledger left out of that day, spread over the time before the first sight, and a 0 follows: the live series
    begins at 0, but its first scrape may come when it has grown beyond the past's sum, and would then look like a
    continuation and not like a new beginning.

    Args:
        series: the live counter; None where nothing is known of it.
        shown: day → count, of days that the platform shows; consulted where the ledger holds nothing of a day.
        span: which days.
        step: how far samples stand apart, in milliseconds: one of `STEPS`.

    Returns:
        The samples in order, none where no day is known.
    """
    whole = span.last if series is None else min(span.last, series.first_day - 1)
    made: list[Point] = [(midnight(span.first), 0.0)]
    total = 0.0
    for day in range(span.first, whole + 1):
        held = None if series is None else series.uncounted(day)
        held = shown.get(day) if held is None else held
        if held is not None:
            made += _grown(midnight(day), midnight(day + 1), total, held, step)
            total += held
    if series is None or span.last < series.first_day:
        return _cut(made, span)
    if span.first > series.first_day:
        return []
    rest = [held for day, held in series.baselines.items() if day >= series.first_day]
    if len(made) == 1 and not rest:
        return []
    begin = midnight(series.first_day)
    seam = max(begin + 1, int(series.created * 1000) - SEAM_MS)
    return [*made, *_grown(begin, seam, total, math.fsum(rest), step), (seam + 1, 0.0)]


def _grown(begin: int, end: int, total: float, held: float, step: int) -> Iterator[Point]:
    """The samples after a midnight, in which a counter grows evenly from one value to its end.

    What a range function finds must not depend on whether a range holds the sample at its beginning (Prometheus 2) or
    not (Prometheus 3). So each fourth step from midnight on has two samples, 1 ms apart and of one value: a range
    from there has one of them at its beginning either way. All others stand in the middle of a step, half a step from
    the ends of every range of whole steps: `rate` extrapolates over a distance that is no longer than a typical
    one, and pairs make the typical one shorter, so that a whole step would be too far.

    Args:
        begin: the midnight, in unix milliseconds. No sample stands there: the time before it may be unknown.
        end: where the last sample stands.
        total: the counter's value at the beginning.
        held: by how much it grows.
        step: how far samples stand apart, in milliseconds.
    """
    for pair in range(begin, end, PAIR_STEPS * step):
        middles = range(pair + step // 2, pair + PAIR_STEPS * step, step)
        for at, grown_until in ((pair, pair), (pair + 1, pair), *zip(middles, middles, strict=True)):
            if begin < at < end:
                # Whole numbers take the least room in a block.
                yield at, total + math.floor(held * (grown_until - begin) / (end - begin))
    yield end, total + held


def _cut(made: list[Point], span: Span) -> list[Point]:
    """An end that is no seam: within its day, so that a later span may begin at the following midnight."""
    if len(made) == 1:
        return []
    end = midnight(span.last + 1)
    at, total = made[-1]
    made[-1] = (min(at, end - 1), total)
    return [*made, (end + 1, 0.0)]


def lines(info: FamilyInfo, labels: Mapping[str, str], values: LabelValues, samples: list[Point]) -> Iterator[str]:
    """A series in OpenMetrics.

    Args:
        info: the family.
        labels: labels that all series get, before their own.
        values: the values of the family's labels.
        samples: when and what.
    """
    pairs = (*labels.items(), *zip(info.labels, values, strict=True))
    series = info.name + "{" + ",".join(f'{name}="{escape(value)}"' for name, value in pairs) + "}"
    for at, value in samples:
        yield f"{series} {_number(value)} {at // 1000}.{at % 1000:03d}\n"


def head(info: FamilyInfo) -> str:
    """The lines before a counter family's samples."""
    name = info.name.removesuffix("_total")
    return f"# HELP {name} {escape(info.help)}\n# TYPE {name} counter\n"


def escape(text: str) -> str:
    """Text as OpenMetrics quotes it."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
