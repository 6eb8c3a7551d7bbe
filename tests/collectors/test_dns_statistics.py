import json

import pytest

from exporter.collectors.dns_statistics import COLLECTOR
from exporter.metric import DayBuckets
from exporter.platform.errors import NotFound, WrongShape
from exporter.targets.target import Target
from tests.collectors.polls import assert_as_in_file, exposed, poll, samples

ZONE = Target("main", "dns_zone", "102", "example.com")
FIRST = """{"TotalQueriesServed": 6010,
  "QueriesServedChart": {"2026-02-06T00:00:00Z": 2000, "2026-02-07T00:00:00Z": 3000.0, "2026-02-08T00:00:00Z": 1010},
  "NormalQueriesServedChart": {"2026-02-07T00:00:00Z": 2500, "2026-02-08T00:00:00Z": 910},
  "SmartQueriesServedChart": {},
  "QueriesByTypeChart": {"1": 5000, "28": 1000, "65534": 10, "CAA": null}}"""
SECOND = """{"TotalQueriesServed": 6110.0,
  "QueriesServedChart": {"2026-02-06T00:00:00Z": 2000, "2026-02-07T00:00:00Z": 3000, "2026-02-08T00:00:00Z": 1110},
  "NormalQueriesServedChart": {"2026-02-07T00:00:00Z": 2500, "2026-02-08T00:00:00Z": 1000},
  "SmartQueriesServedChart": {"2026-02-08T00:00:00Z": 10},
  "QueriesByTypeChart": {"1": 5090, "28": 1000, "65534": 10, "CAA": 10}}"""


async def traffic(**charts: object) -> str:
    """Return the exposition of a zone whose answer contains only these charts."""
    names = {"total": "TotalQueriesServed", "types": "QueriesByTypeChart"}
    body = {names.get(name, f"{name.capitalize()}QueriesServedChart"): chart for name, chart in charts.items()}
    if "queries" in charts:
        body["QueriesServedChart"] = body.pop("QueriesQueriesServedChart")
    return exposed(COLLECTOR, await poll(COLLECTOR, ZONE, json.dumps(body)))


async def test_a_zones_statistics() -> None:
    polls = [await poll(COLLECTOR, ZONE, body) for body in (FIRST, SECOND)]
    assert_as_in_file(exposed(COLLECTOR, *polls), "dns_statistics_two_polls")


async def test_null_and_absent_charts_yield_no_samples_and_counters_at_0() -> None:
    nulls = await traffic(total=None, queries=None, normal=None, smart=None, types=None)
    assert [line for line in nulls.splitlines() if not line.startswith("#")] == [
        'edge_dns_queries_total{account="main",domain="example.com",zone_id="102"} 0.0',
        'edge_dns_routed_queries_total{account="main",domain="example.com",routing="normal",zone_id="102"} 0.0',
        'edge_dns_routed_queries_total{account="main",domain="example.com",routing="smart",zone_id="102"} 0.0',
    ]
    assert await traffic(total=None) == nulls


async def test_empty_charts_are_no_queries_and_have_no_newest_day() -> None:
    exposition = await traffic(queries={}, normal={}, smart={}, types={})
    assert [line for line in exposition.splitlines() if not line.startswith("#") and "_total" not in line] == [
        'edge_dns_window_routed_queries{account="main",domain="example.com",routing="normal",zone_id="102"} 0.0',
        'edge_dns_window_routed_queries{account="main",domain="example.com",routing="smart",zone_id="102"} 0.0',
    ]


async def test_a_chart_of_which_nothing_can_be_read_is_as_good_as_none() -> None:
    exposition = await traffic(queries={"week 6": 5}, normal={"2026-02-08": None}, smart={"?": 1})
    assert [line for line in exposition.splitlines() if not line.startswith("#") and "_total" not in line] == []


async def test_a_number_that_is_no_count_is_left_out() -> None:
    days = {"2026-02-07": 5, "2026-02-08": -5}
    exposition = await traffic(total=-1, queries=days, normal=days, types={"1": -4, "28": 3})
    assert [line.split("{")[0] + " " + line.split(" ")[-1] for line in exposition.splitlines() if line[0] != "#"] == [
        "edge_dns_window_record_queries 3.0",
        "edge_dns_window_routed_queries 5.0",
        "edge_dns_day_queries 5.0",
        "edge_dns_day_routed_queries 5.0",
        "edge_dns_day_start_timestamp_seconds 1.7704224e+09",
        "edge_dns_queries_total 0.0",
        "edge_dns_routed_queries_total 0.0",
        "edge_dns_routed_queries_total 0.0",
    ]


async def test_a_chart_that_is_null_at_first_sight_is_told_apart_from_an_empty_one() -> None:
    polled = await poll(COLLECTOR, ZONE, '{"QueriesServedChart": {}, "NormalQueriesServedChart": null}')
    queries, routed = polled.outcomes[0].counts
    assert queries.sources == (((), DayBuckets({}, charted=True)),)
    assert routed.sources == (
        (("normal",), DayBuckets({}, charted=False)),
        (("smart",), DayBuckets({}, charted=False)),
    )


async def test_hours_add_up_to_their_days() -> None:
    hours = {f"2026-02-0{day}T{hour:02}:00:00Z": 10 for day in (7, 8) for hour in range(12)}
    exposition = await traffic(queries=hours, normal=hours)
    assert samples(exposition, "edge_dns_day_queries") == [
        'edge_dns_day_queries{account="main",domain="example.com",zone_id="102"} 120.0'
    ]
    assert samples(exposition, "edge_dns_day_start_timestamp_seconds") == [
        'edge_dns_day_start_timestamp_seconds{account="main",domain="example.com",zone_id="102"} 1.7705088e+09'
    ]
    assert samples(exposition, "edge_dns_window_routed_queries") == [
        'edge_dns_window_routed_queries{account="main",domain="example.com",routing="normal",zone_id="102"} 240.0'
    ]


@pytest.mark.parametrize("name", ["QueriesServedChart", "NormalQueriesServedChart", "SmartQueriesServedChart"])
async def test_buckets_longer_than_a_day_are_a_failed_poll(name: str) -> None:
    weeks = json.dumps({name: {"2026-01-25": 1, "2026-02-01": 1, "2026-02-08": 1}})
    with pytest.raises(WrongShape, match="the chart's buckets are 7 days long"):
        await poll(COLLECTOR, ZONE, weeks)


async def test_record_types_that_mean_the_same_add_up() -> None:
    exposition = await traffic(types={"1": 5, "A": 2, "01": 1, "TYPE65534": 3, "65534": 4})
    assert samples(exposition, "edge_dns_window_record_queries") == [
        'edge_dns_window_record_queries{account="main",domain="example.com",record_type="A",zone_id="102"} 8.0',
        'edge_dns_window_record_queries{account="main",domain="example.com",record_type="TYPE65534",zone_id="102"} 7.0',
    ]


async def test_an_unknown_zone_is_an_error_that_means_the_target_is_gone() -> None:
    with pytest.raises(NotFound):
        await poll(COLLECTOR, ZONE, NotFound("the platform answered 404", status=404))
    assert COLLECTOR.owns_target


async def test_the_status_page_draws_the_last_30_days_of_a_zone() -> None:
    days = {f"2026-01-{day:02}T00:00:00Z": day for day in range(31, 0, -1)}
    (outcome,) = (await poll(COLLECTOR, ZONE, json.dumps({"QueriesServedChart": days}))).outcomes
    assert outcome.chart == tuple(range(2, 32))


async def test_a_zone_without_a_chart_is_not_drawn() -> None:
    (outcome,) = (await poll(COLLECTOR, ZONE, json.dumps({"QueriesServedChart": None}))).outcomes
    assert outcome.chart == ()
