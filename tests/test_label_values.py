import pytest

from exporter.label_values import label_value, limit_label_values
from exporter.metric import Family, FamilyInfo, Kind, Sample

PARTS = FamilyInfo("edge_parts", "Parts.", Kind.GAUGE, "", ("thing_id", "part"), own=1)
# The number of its series has another bound.
ROWS = FamilyInfo("edge_database_rows", "Rows.", Kind.GAUGE, "", ("database", "region"))


def test_a_gauge_keeps_the_label_values_that_are_first_by_name() -> None:
    families = [Family(info, tuple(Sample(("1", part), 1.0) for part in "cab")) for info in (PARTS, ROWS)]
    (parts, rows), left_out = limit_label_values(families, 2)
    assert [sample.values[-1] for sample in parts.samples] == ["a", "b"]
    assert (rows, left_out) == (families[1], {PARTS.name: 1})
    assert limit_label_values(families, 3) == (tuple(families), {})


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
