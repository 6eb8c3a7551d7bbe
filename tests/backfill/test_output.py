"""The spool can be resumed after any interruption."""

from contextlib import closing
from pathlib import Path

import pytest

from exporter.backfill.charts import BUILT_IN, families
from exporter.backfill.output import JOURNAL, Spool, SpoolError

FAMILIES = families(BUILT_IN)
FIRST, SECOND = FAMILIES[0].name, FAMILIES[1].name
TERMS = {"days": "a to b"}


def body(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith(("# HELP", "# TYPE"))]


def test_families_are_contiguous_whatever_the_order_of_targets(tmp_path: Path) -> None:
    output = tmp_path / "out.om"
    spool = Spool(output, FAMILIES, TERMS)
    spool.add("a", {SECOND: "a2\n", FIRST: "a1\n"}, 2)
    spool.add("b", {FIRST: "b1\n", SECOND: "b2\n"}, 2)
    spool.finish(keep=False)
    assert body(output) == ["a1", "b1", "a2", "b2", "# EOF"]
    assert list(tmp_path.iterdir()) == [output]


def test_what_was_done_is_known_when_it_is_taken_up_again(tmp_path: Path) -> None:
    output = tmp_path / "out.om"
    spool = Spool(output, FAMILIES, TERMS)
    spool.add("a", {FIRST: "a1\n"}, 1)
    spool.close()
    again = Spool(output, FAMILIES, TERMS)
    assert (again.done, again.samples) == ({"a"}, 1)
    again.add("b", {FIRST: "b1\n"}, 1)
    again.finish(keep=True)
    assert body(output) == ["a1", "b1", "# EOF"]
    with closing(Spool(output, FAMILIES, TERMS)) as third:
        assert third.done == {"a", "b"}


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_half_written_target_is_cut_off(tmp_path: Path, cut: int) -> None:
    """Interrupt within the journal's line, and within the target's lines."""
    output = tmp_path / "out.om"
    spool = Spool(output, FAMILIES, TERMS)
    spool.add("a", {FIRST: "a1\n"}, 1)
    spool.add("b", {FIRST: "b1\n", SECOND: "b2\n"}, 2)
    spool.close()
    journal = spool.folder / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-cut])
    again = Spool(output, FAMILIES, TERMS)
    assert again.done == {"a"}
    again.finish(keep=False)
    assert body(output) == ["a1", "# EOF"]


def test_lines_that_a_power_cut_took_are_not_vouched_for(tmp_path: Path) -> None:
    output = tmp_path / "out.om"
    spool = Spool(output, FAMILIES, TERMS)
    spool.add("a", {FIRST: "a1\n"}, 1)
    spool.add("b", {FIRST: "b1\n"}, 1)
    spool.close()
    (spool.folder / f"{FIRST}.om").write_text("a1\nb")
    with closing(Spool(output, FAMILIES, TERMS)) as again:
        assert again.done == {"a"}


def test_other_terms_are_refused(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "out.om", FAMILIES, TERMS)
    spool.close()
    with pytest.raises(SpoolError, match=r"an earlier run with other arguments left \(days a to b\)"):
        Spool(tmp_path / "out.om", FAMILIES, {"days": "c to d"})


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    first = Spool(tmp_path / "out.om", FAMILIES, TERMS)
    with pytest.raises(SpoolError, match="another process is making"):
        Spool(tmp_path / "out.om", FAMILIES, TERMS)
    first.close()
