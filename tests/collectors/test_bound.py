"""How many label values a target's gauges have, and which ones are kept."""

import pytest

from exporter.collectors.bound import bound
from exporter.metric import Family, FamilyInfo, Kind, Places, Sample

PARTS = FamilyInfo("edge_parts", "Parts.", Kind.GAUGE, "", ("thing_id", "part"), own=1)


def shown(polls: str, limit: int = 2) -> str:
    """Return the label values that are exposed after each poll; a digit sets the limit, a letter is a label value."""
    places: Places = ()
    exposed: list[str] = []
    for poll in polls.split():
        if poll.isdigit():
            limit = int(poll)
            continue
        samples = tuple(Sample((f"thing {len(exposed)}", part), 1.0) for part in poll.strip("-"))
        families, places, left_out = bound([Family(PARTS, samples)], places, limit)
        kept = "".join(sample.values[-1] for family in families for sample in family.samples)
        assert left_out == ({PARTS.name: len(samples) - len(kept)} if len(kept) < len(samples) else {})
        exposed.append(kept or "-")
    return " ".join(exposed)


@pytest.mark.parametrize(
    ("polls", "expected"),
    [
        ("ab cb", "ab b"),
        # New ones get free places by name, whatever their order in the answer; the target's own labels may change.
        ("c ba dca", "c a ca"),
        # A place is kept over absence, also if all who have one are absent.
        ("bc - a abc", "bc - - bc"),
        # A higher limit admits more; a lower one keeps the oldest.
        ("abc 3 abc 1 abc", "ab abc a"),
    ],
)
def test_a_label_value_that_has_a_place_keeps_it(polls: str, expected: str) -> None:
    assert shown(polls) == expected


def test_families_without_own_labels_have_no_bound() -> None:
    rows = FamilyInfo("edge_database_rows", "Rows.", Kind.GAUGE, "", ("database", "region"))
    families = (Family(rows, tuple(Sample(("orders", region), 1.0) for region in "abc")),)
    assert bound(families, (), 1) == (families, (), {})
