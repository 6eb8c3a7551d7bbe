"""The window totals and both counters of the built-in collector, declared as an endpoint."""

import json
from pathlib import Path

import pytest

from exporter.collectors import dns_statistics
from exporter.collectors.collector import Collector
from exporter.targets.target import Target
from tests.collectors.polls import exposed, poll
from tests.endpoints.configured import collector

ROOT = Path(__file__).parents[2]
ZONE = Target("main", "dns_zone", "102", "example.com")
ENDPOINT = """
endpoints:
  - name: zone_queries
    path: /dnszone/{id}/statistics
    kind: dns_zone
    interval: 5m
    metrics:
      - {name: own_dns_window_queries, help: Total., value: TotalQueriesServed}
      - name: own_dns_window_routed_queries
        help: By routing.
        value: "{normal: sum(values(NormalQueriesServedChart)), smart: sum(values(SmartQueriesServedChart))}"
        label: routing
      - {name: own_dns_queries_total, help: Queries., days: QueriesServedChart}
      - name: own_dns_routed_queries_total
        help: By routing.
        days: "{normal: NormalQueriesServedChart, smart: SmartQueriesServedChart}"
        label: routing
"""
FAMILIES = {
    f"edge_dns_{end}" for end in ("window_queries", "window_routed_queries", "queries_total", "routed_queries_total")
}


def day(number: int) -> str:
    return f"2026-02-{number:02}T00:00:00Z"


def answer(total: object, queries: object, normal: object, smart: object) -> str:
    charts = {"QueriesServedChart": queries, "NormalQueriesServedChart": normal, "SmartQueriesServedChart": smart}
    return json.dumps({"TotalQueriesServed": total, **charts})


def charts(*, six: int, seven: int, eight: int) -> str:
    queries = {day(5): 9, day(6): six, day(7): seven, day(8): eight}
    return answer(sum(queries.values()), queries, {day(6): six, day(8): eight - 1}, {day(8): 1, day(7): seven})


SEQUENCES = {
    "traffic of today": [charts(six=1, seven=2, eight=3), charts(six=1, seven=2, eight=30)],
    "late corrections of closed days": [
        charts(six=10, seven=20, eight=3),
        charts(six=15, seven=20, eight=4),
        charts(six=12, seven=29, eight=4),
        charts(six=17, seven=29, eight=5),
    ],
    "charts that are null, and come": [
        answer(7, None, None, {}),
        charts(six=1, seven=2, eight=3),
        answer(None, None, None, None),
        charts(six=1, seven=2, eight=8),
    ],
}


async def series(one: Collector, answers: list[str]) -> list[str]:
    """Return the sample lines of the four families after each answer."""
    polls = [await poll(one, ZONE, body) for body in answers]
    lines: list[str] = []
    for number in range(1, len(polls) + 1):
        text = exposed(one, *polls[:number])
        lines += [line for line in text.splitlines() if line.partition("{")[0] in (FAMILIES | {*map(own, FAMILIES)})]
    return sorted(lines)


def own(line: str) -> str:
    """Return a line of a built-in family as the endpoint's own family gives it."""
    return line.replace("edge_dns_", "own_dns_", 1)


@pytest.mark.parametrize("answers", SEQUENCES.values(), ids=SEQUENCES)
async def test_declared_anew_it_gives_the_same_series_and_values_from_the_same_answers(answers: list[str]) -> None:
    built_in = await series(dns_statistics.COLLECTOR, answers)
    assert built_in
    assert await series(collector(ENDPOINT, "zone_queries"), answers) == [own(line) for line in built_in]
