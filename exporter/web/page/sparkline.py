"""A chart of days, small enough for a row of a table."""

from collections.abc import Sequence
from typing import NamedTuple

from exporter.web.page.wording import compact, plural

_WIDTH = 120
_TOP = 3
_BOTTOM = 25


class Sparkline(NamedTuple):
    """The drawing: the points of the line, the end of the last whole day, and the dot of the newest day."""

    title: str
    line: str
    over: str
    x: str
    y: str


def sparkline(chart: Sequence[float]) -> Sparkline:
    """Draw a chart of at least two days, 120 by 28 pixels.

    The line begins at zero, so that half the height is half the count. The newest day, which has not ended, is a
    separate dot.
    """
    highest = max(chart)
    scale = (_BOTTOM - _TOP) / highest if highest > 0 else 0.0
    step = (_WIDTH - 8) / (len(chart) - 1)
    places = [f"{4 + index * step:.0f} {_BOTTOM - value * scale:.0f}" for index, value in enumerate(chart)]
    x, y = places[-1].split()
    return Sparkline(describe(chart), "L".join(places[:-1]), places[-2].split()[0], x, y)


def describe(chart: Sequence[float]) -> str:
    """Describe the chart in words."""
    over = chart[:-1]
    return (
        f"{plural(len(chart), 'day')}: {compact(min(over))} to {compact(max(over))} a day, "
        f"{compact(chart[-1])} so far on the newest"
    )
