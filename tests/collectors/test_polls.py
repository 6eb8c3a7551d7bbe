"""A changed exposition is reported, and the file can be written again."""

from pathlib import Path

import pytest

from tests.collectors.polls import EXPOSITIONS, WRITE, assert_as_in_file

STANDS = (EXPOSITIONS / "search.prom").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WRITE, raising=False)


def test_a_changed_exposition_is_told_with_its_file_its_lines_and_what_to_do() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_as_in_file(STANDS.replace("Resources", "Things"), "search")
    reported = str(caught.value)
    assert "tests/collectors/expositions/search.prom does not hold what is exposed" in reported
    assert "WRITE_EXPOSITIONS=1 python -m pytest tests/collectors" in reported
    assert "\n-# HELP edge_search_results Resources that" in reported
    assert "\n+# HELP edge_search_results Things that" in reported


def test_a_file_that_is_not_there_is_told_like_one_that_differs(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"fresh\.prom does not hold what is exposed"):
        assert_as_in_file("a 1.0\n", "fresh", tmp_path)


def test_a_line_end_that_is_missing_is_a_difference(tmp_path: Path) -> None:
    (tmp_path / "one.prom").write_text("a 1.0\n")
    with pytest.raises(AssertionError, match="they differ in the ends of their lines"):
        assert_as_in_file("a 1.0", "one", tmp_path)


def test_it_is_written_anew_where_the_environment_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WRITE, "1")
    assert_as_in_file("a 1.0\n", "fresh", tmp_path)
    assert (tmp_path / "fresh.prom").read_text() == "a 1.0\n"
