"""Converts the daily counts before a live counter to samples with timestamps."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from exporter.counters.series import DaySeries
from exporter.metric import FamilyInfo, LabelValues

DAY_MS = 86_400_000
# The history ends this long before the live series begins, because the clocks of platform and scraper may differ.
SEAM_MS = 60_000
MINUTE_MS = 60_000
# The names of the possible distances between samples, in milliseconds. Twelve hours divide into groups of four of them.
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
    """Return the unix milliseconds at which a UTC day begins."""
    return (ordinal - _EPOCH) * DAY_MS


def day_of(moment: datetime) -> int:
    """Return the ordinal of the UTC day of a time."""
    return moment.astimezone(UTC).toordinal()


def points(series: DaySeries | None, shown: Mapping[int, float], span: Span, step: int) -> list[Point]:
    """Return the values that the counter would have had, if counting had begun on the first day of a span.

    The count of a day is spread evenly over the day. If the span includes the day of the live counter's first poll, the
    last day is the part of its count that the ledger excludes, spread over the time before that poll. A 0 follows,
    because the live series begins at 0: at its first scrape it may already be above the sum of the history, and would
    look like a continuation.

    Args:
        series: the live counter; None if there is none.
        shown: day → count that the platform shows; used for days of which the ledger has no count.
        span: the days.
        step: milliseconds between samples: one of `STEPS`.

    Returns:
        The samples in order; none if no day is known.
    """
    if series is not None and (begun := day_of(datetime.fromtimestamp(series.created, UTC))) < series.first_day:
        # It counted something else before its first day; what that left out of the day on which it began is not known.
        span = Span(span.first, min(span.last, begun - 1))
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
    """Yield the samples after a midnight, with a value that grows evenly.

    Range functions must find the same whether a range includes the sample at its start (Prometheus 2) or not
    (Prometheus 3). So each fourth step from midnight has two samples with the same value, 1 ms apart; a range that
    starts there has one of them at its start in both cases. All other samples are in the middle of a step, half a step
    from the ends of every range of whole steps. `rate` extrapolates at most over the average distance of samples,
    which the pairs make shorter than a step, so samples at the ends of steps would be too far away.

    The midnight itself gets no sample, because the time before it may be unknown.
    """
    for pair in range(begin, end, PAIR_STEPS * step):
        middles = range(pair + step // 2, pair + PAIR_STEPS * step, step)
        for at, grown_until in ((pair, pair), (pair + 1, pair), *zip(middles, middles, strict=True)):
            if begin < at < end:
                # Whole numbers take the least space in a block.
                yield at, total + math.floor(held * (grown_until - begin) / (end - begin))
    yield end, total + held


def _cut(made: list[Point], span: Span) -> list[Point]:
    """End a span before the live counter: the last sample is within its day, as the next span begins at midnight."""
    if len(made) == 1:
        return []
    end = midnight(span.last + 1)
    at, total = made[-1]
    made[-1] = (min(at, end - 1), total)
    return [*made, (end + 1, 0.0)]


def lines(info: FamilyInfo, labels: Mapping[str, str], values: LabelValues, samples: list[Point]) -> Iterator[str]:
    """Yield the lines of a series in OpenMetrics, with labels of all series before the values of the family's own."""
    pairs = (*labels.items(), *zip(info.labels, values, strict=True))
    series = info.name + "{" + ",".join(f'{name}="{escape(value)}"' for name, value in pairs) + "}"
    for at, value in samples:
        yield f"{series} {_number(value)} {at // 1000}.{at % 1000:03d}\n"


def head(info: FamilyInfo) -> str:
    """Return the lines before the samples of a counter."""
    name = info.name.removesuffix("_total")
    return f"# HELP {name} {escape(info.help)}\n# TYPE {name} counter\n"


def escape(text: str) -> str:
    """Escape a text for OpenMetrics."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
