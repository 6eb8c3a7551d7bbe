"""Panels whose texts promise a backfilled past, on a Prometheus with backfilled data only."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pytest

from dashboards.generator.inventory import PAGES, Kind, filled_in, queries
from tests.backfill.backfill_setup import written
from tests.real_parts import Prometheus, Release, create_blocks, prometheus_running

pytestmark = pytest.mark.real
DAY = 86400.0
DAYS = 30


@dataclass(frozen=True)
class Past:
    """A Prometheus with 30 days of backfilled counters that end with yesterday.

    Attributes:
        midnight: when the past ends, in unix seconds.
        totals: the queries of all zones of each day, yesterday's last.
    """

    server: Prometheus
    midnight: float
    totals: list[int]

    def ask(self, title: str, query: int, *, start: float, step: float) -> dict[float, float]:
        """Return what a panel of the DNS page shows from a time to the end of the history."""
        uses = [use for use in queries() if (use.page, use.kind, use.place) == ("edge-dns", Kind.PANEL, title)]
        assert step >= _seconds(uses[query].step), "Grafana takes no finer step"
        found: list[dict[str, Any]] = self.server.ask_range(
            filled_in(uses[query]), start=start, end=self.midnight, step=step
        )
        assert len(found) <= 1
        return {float(at): float(value) for series in found for at, value in series["values"]}


def _seconds(step: str) -> float:
    return int(step[:-1]) * {"m": 60.0, "h": 3600.0, "d": DAY}[step[-1]]


# A release of Prometheus, and the step of the history.
FINE = [(Release.INSTALLED, "15m"), (Release.NEWEST, "15m")]
COARSE = [(Release.INSTALLED, "3h"), (Release.NEWEST, "3h")]


@pytest.fixture(scope="module", params=FINE + COARSE, ids=str)
def past(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """A month, on a Prometheus of either kind."""
    release, step = request.param
    home = tmp_path_factory.mktemp("past")
    month = written(home, step)
    create_blocks(month.output, home / "data", release)
    with prometheus_running(home, release=release) as server:
        yield Past(server, month.end, [sum(day) for day in zip(*month.truth.values(), strict=True)])


def test_queries_a_day_are_the_platforms(past: Past) -> None:
    found = past.ask("Queries a day", 0, start=past.midnight - (DAYS - 1) * DAY, step=DAY)
    assert list(found.values()) == pytest.approx(past.totals, abs=1)
    assert list(found) == [past.midnight - number * DAY for number in range(DAYS - 1, -1, -1)]


@pytest.mark.parametrize("past", FINE, indirect=True, ids=str)
@pytest.mark.parametrize(("query", "days"), [(1, 1), (2, 7)], ids=["a day before", "a week before"])
@pytest.mark.parametrize("step", [900.0, 3600.0, 7200.0])
def test_the_same_time_before_is_there_at_every_point(past: Past, query: int, days: int, step: float) -> None:
    title, start = "Queries against the same time before", past.midnight - 2 * DAY + step
    found = past.ask(title, query, start=start, step=step)
    assert len(found) == 2 * DAY / step
    for at, value in found.items():
        # A point at midnight is the value of the day that ends there.
        if (at - 1) % DAY >= 3 * 3600:
            day = past.totals[int((at - 1 - days * DAY - past.midnight) // DAY)]
            assert value == pytest.approx(day / DAY, rel=0.01)


def test_the_band_holds_the_lowest_and_the_highest_day(past: Past) -> None:
    for query, expected in ((2, min(past.totals)), (3, max(past.totals))):
        found = past.ask("Today against the last 30 days", query, start=past.midnight - DAY / 24, step=300.0)
        assert found[past.midnight] == pytest.approx(expected, rel=0.001)


def test_no_panel_but_these_speaks_of_backfill() -> None:
    panels = chain.from_iterable(page.panels for page in PAGES)
    speaking = {panel.title for panel in panels if "backfill" in panel.description}
    assert speaking == {"Queries a day", "Queries against the same time before"}
