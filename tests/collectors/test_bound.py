"""How many label values a target's gauges have, and which ones are kept."""

from exporter.metric import Family, FamilyInfo, Kind, Sample, bounded

PARTS = FamilyInfo("edge_parts", "Parts.", Kind.GAUGE, "", ("thing_id", "part"), own=1)
# The number of its series has another bound.
ROWS = FamilyInfo("edge_database_rows", "Rows.", Kind.GAUGE, "", ("database", "region"))


def test_a_gauge_keeps_the_label_values_that_are_first_by_name() -> None:
    families = [Family(info, tuple(Sample(("1", part), 1.0) for part in "cab")) for info in (PARTS, ROWS)]
    (parts, rows), left_out = bounded(families, 2)
    assert [sample.values[-1] for sample in parts.samples] == ["a", "b"]
    assert (rows, left_out) == (families[1], {PARTS.name: 1})
    assert bounded(families, 3) == (tuple(families), {})
