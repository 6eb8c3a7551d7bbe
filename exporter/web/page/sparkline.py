"""A line of thirty days, small enough to stand in a row of a table."""

from collections.abc import Sequence

from exporter.web.page.wording import compact, plural

WIDTH = 120
HEIGHT = 28
_TOP = 3
_BOTTOM = 25


def sparkline(chart: Sequence[float]) -> str:
    """The chart as an inline picture with its facts in words; empty where there is no chart.

    The line begins at zero, so that half the height is half the count. The newest day, which is not over,
    is the dot beside it.
    """
    if len(chart) < 2:  # noqa: PLR2004 - a line has two ends
        return ""
    highest = max(chart)
    scale = (_BOTTOM - _TOP) / highest if highest > 0 else 0.0
    step = (WIDTH - 8) / (len(chart) - 1)
    places = [f"{4 + index * step:.0f} {_BOTTOM - value * scale:.0f}" for index, value in enumerate(chart)]
    line = "L".join(places[:-1])
    over_x, (newest_x, newest_y) = places[-2].split()[0], places[-1].split()
    return (
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
        f"<title>{describe(chart)}</title>"
        f'<path class="area" d="M4 {_BOTTOM}L{line}L{over_x} {_BOTTOM}z"/><path class="line" d="M{line}"/>'
        f'<circle cx="{newest_x}" cy="{newest_y}" r="2"/></svg>'
    )


def describe(chart: Sequence[float]) -> str:
    """The chart in words."""
    over = chart[:-1]
    return (
        f"{plural(len(chart), 'day')}: {compact(min(over))} to {compact(max(over))} a day, "
        f"{compact(chart[-1])} so far on the newest"
    )
