"""The spool can be resumed after any interruption."""

from contextlib import closing
from pathlib import Path

import pytest

from exporter.backfill.charts import BUILT_IN, families
from exporter.backfill.output import JOURNAL, Spool, SpoolError, parts_of

FAMILIES = families(BUILT_IN)
FIRST, SECOND = FAMILIES[0].name, FAMILIES[1].name
TERMS = {"days": "a to b"}


def body(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith(("# HELP", "# TYPE"))]


A, B = ("a", {FIRST: "a1\n", SECOND: "a2\n"}, 2), ("b", {FIRST: "b1\n", SECOND: "b2\n"}, 2)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A file to make, of which two targets are written."""
    output = tmp_path / "out.om"
    with closing(Spool(output, FAMILIES, TERMS)) as spool:
        spool.add(*A)
        spool.add(*B)
    return output


def test_families_are_contiguous_and_what_was_done_is_known_when_it_is_taken_up_again(output: Path) -> None:
    spool = Spool(output, FAMILIES, TERMS)
    assert (spool.done, spool.samples) == ({"a", "b"}, 4)
    spool.add("c", {SECOND: "c2\n", FIRST: "c1\n"}, 2)
    spool.finish(keep=True)
    whole = ["a1", "b1", "c1", "a2", "b2", "c2", "# EOF"]
    assert body(output) == whole
    again = Spool(output, FAMILIES, TERMS)
    assert again.done == {"a", "b", "c"}
    again.finish(keep=False)
    assert (body(output), list(output.parent.iterdir())) == (whole, [output])


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_half_written_target_is_cut_off(output: Path, cut: int) -> None:
    """Interrupt within the journal's line, and within the target's lines."""
    journal = parts_of(output) / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-cut])
    again = Spool(output, FAMILIES, TERMS)
    assert again.done == {"a"}
    again.finish(keep=False)
    assert body(output) == ["a1", "a2", "# EOF"]


def test_lines_that_a_power_cut_took_are_not_vouched_for(output: Path) -> None:
    (parts_of(output) / f"{FIRST}.om").write_text("a1\nb")
    with closing(Spool(output, FAMILIES, TERMS)) as again:
        assert again.done == {"a"}


def test_other_terms_and_two_at_once_are_refused(output: Path) -> None:
    with pytest.raises(SpoolError, match=r"an earlier run with other arguments left \(days a to b\)"):
        Spool(output, FAMILIES, {"days": "c to d"})
    with closing(Spool(output, FAMILIES, TERMS)), pytest.raises(SpoolError, match="another process is making"):
        Spool(output, FAMILIES, TERMS)
