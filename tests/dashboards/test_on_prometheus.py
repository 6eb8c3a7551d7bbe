"""Every query on a real Prometheus with a month of a small platform, served by two exporters."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dashboards.generator.inventory import PAGES
from dashboards.generator.page import Page, Panel, Table
from tests.dashboards import world
from tests.dashboards.uses import USES, Kind, Use, filled_in
from tests.real_parts import Prometheus, create_blocks, prometheus_running

pytestmark = pytest.mark.real("prometheus")

every_query = pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.page} {use.kind.value}: {use.place}")

# Comparisons with the past have results when there is a past, also without problems.
OF_HISTORY = "Prometheus has held the counters"


class Month:
    """A Prometheus with the month, and queries as a page sends them."""

    def __init__(self, prometheus: Prometheus) -> None:
        self.prometheus = prometheus

    def ask(self, use: Use, moment: datetime, span: float = 0, step: str | float = "") -> list[Any]:
        """Return what a page would show at a time; without a span in seconds, what an hour or month would."""
        at, span = moment.timestamp(), span or (30 * 86_400 if use.query.step == "1d" else 3600)
        expr = filled_in(use, span=f"{span:.0f}s")
        if use.instant:
            return self.prometheus.ask(expr, time=at)
        return self.prometheus.ask_range(expr, start=at - span, end=at, step=step or use.query.step)

    def value(self, page: str, place: str, moment: datetime, *, query: int = 0, **labels: str) -> float:
        """Return the newest value of a panel's query for the series with these labels."""
        found = [
            float(series["values"][-1][1] if "values" in series else series["value"][1])
            for series in self.ask(uses_of(page, place)[query], moment)
            if labels.items() <= series["metric"].items()
        ]
        assert len(found) == 1
        return found[0]


def uses_of(page: str, place: str, kind: Kind = Kind.PANEL) -> list[Use]:
    """Return the queries of a panel, or of a page's annotation."""
    return [use for use in USES if (use.page, use.kind, use.place) == (page, kind, place)]


@contextmanager
def month_served(home: Path, scene: world.Scene = world.SMALL) -> Iterator[Month]:
    """Run a Prometheus with the month of a world."""
    file = home / "month.om"
    with file.open("w") as written:
        written.writelines(world.openmetrics(scene))
    create_blocks(file, home / "data")
    file.unlink()
    with prometheus_running(home) as prometheus:
        yield Month(prometheus)


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Month]:
    """Run a Prometheus for all tests."""
    with month_served(tmp_path_factory.mktemp("prometheus")) as served:
        yield served


@every_query
def test_finds_something_where_all_is_well(month: Month, use: Use) -> None:
    found = month.ask(use, world.HEALTHY_UNTIL)

    if use.query.quiet and not use.query.quiet.startswith(OF_HISTORY):
        assert found == []
    else:
        assert found


@every_query
def test_finds_something_in_trouble(month: Month, use: Use) -> None:
    assert month.ask(use, world.END)


@pytest.mark.parametrize(
    "shown", [(page, panel) for page in PAGES for panel in page.panels], ids=lambda shown: shown[1].title
)
def test_answers_carry_the_labels_that_are_shown(month: Month, shown: tuple[Page, Panel]) -> None:
    page, panel = shown
    answers = [month.ask(use, world.END) for use in uses_of(page.uid, panel.title)]
    for query, answer in zip(panel.queries, answers, strict=True):
        for label in re.findall(r"\{\{(\w+)\}\}", query.legend):
            assert all(label in series["metric"] for series in answer), query.legend
    if isinstance(panel.view, Table) and panel.view.columns:
        found = {label for answer in answers for series in answer for label in series["metric"]}
        assert {column.label for column in panel.view.columns if column.label} - found == set()


@pytest.mark.parametrize(
    ("page", "place", "query", "labels", "expected"),
    [
        ("edge-overview", "Exporters down", 0, {}, 0),
        ("edge-overview", "Targets failing", 0, {}, 1),
        ("edge-overview", "Accounts not answering", 0, {}, 0),
        ("edge-dns", "Queries a second", 0, {}, 6),
        ("edge-dns", "Top zones", 0, {"domain": "b.example"}, 2),
        ("edge-dns", "Today so far", 0, {}, 6 * 43200),
        ("edge-dns", "Today against the last 30 days", 1, {}, 6 * 43200),
        ("edge-dns", "Today against the last 30 days", 2, {}, 6 * 86400),
        ("edge-dns", "Queries against the same time before", 2, {}, 6),
        ("edge-dns", "Zones", 2, {"domain": "c.example"}, 1),
        ("edge-dns", "Zones", 3, {"domain": "c.example"}, 3 * 30.5 * 86400),
        ("edge-dns", "Scans that need a look", 1, {"status": "failed"}, 1),
        ("edge-dns", "Scans that need a look", 2, {"status": "never"}, 0),
        ("edge-dns", "Zones furthest from usual", 0, {"domain": "c.example"}, 1),
        ("edge-scripts", "Cost, month to date", 0, {}, 43.5),
        ("edge-scripts", "Projected month end", 0, {}, 43.5 * 28 / 14.5),
        ("edge-scripts", "Scripts", 3, {"script": "router"}, 29 * 28 / 14.5 / 40),
        ("edge-scripts", "Projected over budget", 0, {}, 1),
        ("edge-scripts", "Scripts", 6, {"script": "router"}, 29),
        ("edge-scripts", "Spending by script", 0, {"script": "router"}, 3600 / 60),
        ("edge-shield", "Breaches by action", 0, {"action": "blocked"}, 2),
        ("edge-shield", "Rate limits", 3, {"rate_limit": "login"}, 180),
        ("edge-shield", "Settings of zones", 0, {"setting": "waf engine", "value": "block"}, 2),
        ("edge-shield", "Zones", 5, {"shield_zone_id": "3"}, 1),
        # Each process makes its own calls, so they add up: two processes, two endpoints and two codes.
        ("edge-exporter", "API budget", 0, {"account": "main"}, 8 / 60),
        # The columns without a label show the first queries: this one is when the state was damaged.
        ("edge-exporter", "Instances", 7, {"instance": "exporter-0:9877"}, 1000 * (world.END.timestamp() - 43200)),
    ],
)
def test_what_two_exporters_serve_is_counted_once(  # noqa: PLR0917 - a table of cases
    month: Month, page: str, place: str, query: int, labels: dict[str, str], expected: float
) -> None:
    found = month.value(page, place, world.END, query=query, **labels)
    assert found == pytest.approx(expected, rel=0.01)


def test_what_the_exporter_noticed_is_counted_by_what_it_is(month: Month) -> None:
    found: Counter[str] = Counter()
    for row in month.ask(uses_of("edge-exporter", "What the exporter noticed")[0], world.END):
        found[row["metric"]["what"]] += round(float(row["value"][1]))
    assert found == {
        "fails: reason": 8,
        "total differs from its days": 4,
        "metrics absent: cause": 4,
        "series left out of family": 2,
        "unknown value of field": 396,
        "count lowered: family": 100,
        "round failed: task": 100,
        "no one holds shard 0": 1,
        "no one holds shard 1": 1,
        "has labels": 2,
        "has a threshold: alert": 2,
    }


@pytest.mark.parametrize(("hours", "factor"), [(0.5, 1), (2, 28 * 24 / 2)])
def test_a_months_first_hour_is_not_extrapolated(month: Month, hours: float, factor: float) -> None:
    """The last poll still has the old month's sum, and the factor would be about a thousand."""
    moment = datetime(2026, 2, 1, tzinfo=UTC) + timedelta(hours=hours)
    assert month.value("edge-scripts", "Projected month end", moment) == pytest.approx(43.5 * factor)
