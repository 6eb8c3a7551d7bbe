"""Every query on a real Prometheus with a month of a small platform, served by two exporters."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dashboards.generator.all_pages import PAGES
from dashboards.generator.page import Page, Panel, Table
from exporter.collectors.catalogue import CATALOGUE
from tests.dashboards.incidents import ALL_AT_ONCE, scene
from tests.dashboards.scene import COST, END, MEAN, TROUBLE, Scene, calm, openmetrics
from tests.dashboards.uses import USES, Kind, Use, filled_in
from tests.real_parts import Prometheus, Release, create_blocks, prometheus_running

pytestmark = pytest.mark.real("prometheus")

every_query = pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.page} {use.kind.value}: {use.place}")

# Comparisons with the past have results when there is a past, also without problems.
OF_HISTORY = "Prometheus has held the counters"


class Month:
    """A Prometheus with the month, and queries as a page sends them."""

    def __init__(self, prometheus: Prometheus) -> None:
        self.prometheus = prometheus

    def ask(self, use: Use, moment: datetime, span: float = 0, step: str | float = "") -> list[Any]:
        """Return what a page shows at a time, over a span in seconds: by default an hour, or a month for days."""
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
def month_served(home: Path, shown: Scene, release: Release = Release.INSTALLED) -> Iterator[Month]:
    """Run a Prometheus with a month of the platform."""
    file = home / "month.om"
    with file.open("w") as written:
        written.writelines(openmetrics(shown))
    create_blocks(file, home / "data", release)
    file.unlink()
    with prometheus_running(home, release=release) as prometheus:
        yield Month(prometheus)


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Month]:
    """Run a Prometheus for all tests."""
    two = scene(ALL_AT_ONCE, instances=("exporter-0:9877", "exporter-1:9877"), lasts=timedelta(hours=5))
    with month_served(tmp_path_factory.mktemp("prometheus"), two) as served:
        yield served


@every_query
def test_finds_something_in_trouble_and_else_unless_it_is_quiet(month: Month, use: Use) -> None:
    is_quiet = use.query.quiet and not use.query.quiet.startswith(OF_HISTORY)
    assert (bool(month.ask(use, TROUBLE)), bool(month.ask(use, END))) == (not is_quiet, True)


@pytest.mark.parametrize(
    "shown", [(page, panel) for page in PAGES for panel in page.panels], ids=lambda shown: shown[1].title
)
def test_answers_carry_the_labels_that_are_shown(month: Month, shown: tuple[Page, Panel]) -> None:
    page, panel = shown
    answers = [month.ask(use, END) for use in uses_of(page.uid, panel.title)]
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
        ("edge-dns", "Queries a second", 0, {}, 90),
        ("edge-dns", "Top zones", 0, {"domain": "api.example"}, 30),
        ("edge-dns", "Today so far", 0, {}, 60 * 43200),
        ("edge-dns", "Queries against the same time before", 2, {}, 90),
        ("edge-dns", "Zones", 2, {"domain": "shop-eu.example"}, 1),
        ("edge-dns", "Zones", 3, {"domain": "shop-eu.example"}, 30 * 30.5 * 86400),
        ("edge-dns", "Scans that need a look", 1, {"status": "failed"}, 1),
        ("edge-dns", "Scans that need a look", 2, {"status": "never"}, 0),
        ("edge-scripts", "Cost, month to date", 0, {}, 43.5),
        ("edge-scripts", "Projected month end", 0, {}, 43.5 * 28 / 14.5),
        ("edge-scripts", "Scripts", 3, {"script": "router"}, 29 * 28 / 14.5 / 40),
        ("edge-scripts", "Projected over budget", 0, {}, 1),
        ("edge-scripts", "Scripts", 6, {"script": "router"}, 1e6 * COST["7"] / MEAN["7"]),
        ("edge-scripts", "Spending by script", 0, {"script": "router"}, 1.5 * 3600 * COST["7"]),
        ("edge-shield", "Breaches by action", 0, {"action": "blocked"}, 1.5 * 60 * 0.3 * 0.07),
        ("edge-shield", "Rate limits", 3, {"rate_limit": "login"}, 1.5 * 3600 * 0.05),
        ("edge-shield", "Settings of zones", 0, {"setting": "waf engine", "value": "block"}, 2),
        ("edge-shield", "Zones", 5, {"shield_zone_id": "3"}, 1),
        # Each process makes its own calls, so they add up: two processes, two endpoints and two codes.
        ("edge-exporter", "API budget", 0, {"account": "main"}, 8 / 60),
        # The columns without a label show the first queries: this one is when the state file was set aside.
        ("edge-exporter", "Instances", 7, {"instance": "exporter-0:9877"}, 1000 * (END.timestamp() - 43200)),
    ],
)
def test_what_two_exporters_serve_is_counted_once(  # noqa: PLR0917 - a table of cases
    month: Month, page: str, place: str, query: int, labels: dict[str, str], expected: float
) -> None:
    found = month.value(page, place, END, query=query, **labels)
    assert found == pytest.approx(expected, rel=0.015)


def test_what_the_exporter_noticed_is_counted_by_what_it_is(month: Month) -> None:
    found: Counter[str] = Counter()
    for row in month.ask(uses_of("edge-exporter", "What the exporter noticed")[0], END):
        found[row["metric"]["what"]] += round(float(row["value"][1]))
    assert found == {
        "fails: unauthorized": 4 * len(CATALOGUE),
        "total differs from its days": 4,
        "metrics absent: cause": 12,
        "series left out of family": 2,
        "unknown value of field": 200,
        "count lowered: family": 50,
        "task failed: task": 50,
        "no one holds shard 0": 1,
        "no one holds shard 1": 1,
        "has labels": 2,
        "has a threshold: alert": 2,
    }


@pytest.mark.parametrize(("hours", "factor"), [(0.5, 1), (2, 28 * 24 / 2)])
def test_a_months_first_hour_is_not_extrapolated(month: Month, hours: float, factor: float) -> None:
    """The last poll still has the old month's sum, and the factor would be about a thousand."""
    moment = datetime(2026, 2, 1, tzinfo=UTC) + timedelta(hours=hours)
    costs = (calm("edge_script_monthly_cost_dollars", {"script_id": script}, moment.timestamp()) for script in COST)
    assert month.value("edge-scripts", "Projected month end", moment) == pytest.approx(
        sum(filter(None, costs)) * factor
    )
