"""The spool can be resumed after any interruption."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from exporter.backfill.charts import BUILT_IN, families
from exporter.backfill.output import RefusedError, Spool, parts_of

FAMILIES = families(BUILT_IN)
FIRST, SECOND = FAMILIES[0].name, FAMILIES[1].name
TERMS = {"days": "a to b"}
A, B = ("a", {FIRST: "a1\n", SECOND: "a2\n"}, 2), ("b", {FIRST: "b1\n", SECOND: "b2\n"}, 2)


def body(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith(("# HELP", "# TYPE"))]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A file to make, of which two targets are written."""
    output = tmp_path / "made" / "out.om"
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
    assert (body(output), output.read_text().count("# TYPE")) == (whole, 2)
    again = Spool(output, FAMILIES, TERMS)
    assert again.done == {"a", "b", "c"}
    again.finish(keep=False)
    assert (body(output), list(output.parent.iterdir())) == (whole, [output])


def test_a_half_written_target_is_cut_off(output: Path) -> None:
    interrupted: Any = {FIRST: "c1\n", SECOND: object()}
    with closing(Spool(output, FAMILIES, TERMS)) as spool, pytest.raises(sqlite3.Error):
        spool.add("c", interrupted, 2)
    again = Spool(output, FAMILIES, TERMS)
    assert (again.done, again.samples) == ({"a", "b"}, 4)
    again.finish(keep=False)
    assert body(output) == ["a1", "b1", "a2", "b2", "# EOF"]


def test_other_terms_and_two_at_once_are_refused(output: Path) -> None:
    with pytest.raises(RefusedError, match=r"an earlier run with other arguments left \(days a to b\)"):
        Spool(output, FAMILIES, {"days": "c to d"})
    with closing(Spool(output, FAMILIES, TERMS)), pytest.raises(RefusedError, match="another process is making"):
        Spool(output, FAMILIES, TERMS)


def test_a_disk_that_takes_nothing_is_no_damage(tmp_path: Path) -> None:
    (parts_of(tmp_path / "out.om") / "parts.db").mkdir(parents=True)
    with pytest.raises(OSError, match="unable to open database file"):
        Spool(tmp_path / "out.om", FAMILIES, TERMS)


@pytest.mark.parametrize("content", ["not a database " * 100, "CREATE TABLE terms (other)"], ids=["text", "foreign"])
def test_a_file_in_the_place_of_the_parts_is_refused(output: Path, content: str) -> None:
    file = parts_of(output) / "parts.db"
    file.unlink()
    if content.startswith("CREATE"):
        with closing(sqlite3.connect(file)) as database:
            database.execute(content)
    else:
        file.write_text(content)
    with pytest.raises(RefusedError, match=r"out\.om\.part is damaged \(.+\): remove it"):
        Spool(output, FAMILIES, TERMS)
