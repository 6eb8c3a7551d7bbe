import pytest

from exporter.label_values import label_value, limit_gauges
from exporter.metric import Family, FamilyInfo, Kind, Sample
from tests.exporter_parts import exporter_parts

PARTS = FamilyInfo("edge_parts", "Parts.", Kind.GAUGE, "", ("thing_id", "part"), is_limited=True)
# The number of its series has another bound.
ROWS = FamilyInfo("edge_database_rows", "Rows.", Kind.GAUGE, "", ("database", "region"))


def test_a_gauge_keeps_the_label_values_that_are_first_by_name() -> None:
    families = [Family(info, tuple(Sample(("1", part), 1.0) for part in "cab")) for info in (PARTS, ROWS)]
    (parts, rows), left_out = limit_gauges(families, 2)
    assert [sample.values[-1] for sample in parts.samples] == ["a", "b"]
    assert (rows, left_out) == (families[1], {PARTS.name: 1})
    assert limit_gauges(families, 3) == (tuple(families), {})


async def test_series_beyond_the_bound_are_counted_while_their_target_is_served() -> None:
    off, body = {"discover": False}, '{"TotalQueriesServed": 6, "QueriesByTypeChart": {"1": 1, "2": 2, "5": 3}}'
    zone = {"dns_zones": {**off, "ids": [101]}, "scripts": off, "shield_zones": off}
    answer = {"kind": "status", "path": "/dnszone/101/statistics", "status": 200, "body": body}
    series = {"max_label_values": 1, "allow": ["edge_dns_window_record_queries", "edge_exporter_series_dropped"]}
    async with exporter_parts(account=zone, more={"series": series}, fault=answer) as parts:
        await parts.settle()
        for served, left_out in ((1, {("edge_dns_window_record_queries",): 2.0}), (0, {})):
            parts.daemon.work.show()
            await parts.renderer.render()
            assert len(parts.samples("edge_dns_window_record_queries")) == served
            assert parts.samples("edge_exporter_series_dropped") == left_out
            parts.faults.clear()
            parts.faults.add({**answer, "status": 404})
            await parts.turn(600)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("", ""),
        ("caf\u00e9", "caf\u00e9"),
        ("a\0b", "a\ufffdb"),
        ("caf\u00e9\0", "caf\u00e9\ufffd"),
        ("\ud83d", "?"),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1023 + "…"),
        ("\u00e9" * 1025, "\u00e9" * 1023 + "…"),
    ],
)
def test_any_text_is_made_fit_for_a_label(text: str, value: str) -> None:
    assert label_value(text) == value
