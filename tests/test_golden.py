from pathlib import Path

import pytest

from tests.golden import ROOT, WRITE, assert_golden
from tests.texts import listed

LISTED = ROOT / "tests" / "listed"


def test_a_difference_is_reported_by_file_and_line_until_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(WRITE, raising=False)
    path = tmp_path / "one.txt"
    with pytest.raises(AssertionError, match=r"(?s)one\.txt differs from what is shown; WRITE_GOLDENS=1 .*\n\+a 1\.0"):
        assert_golden("a 1.0\n", path)
    path.write_text("a 1.0\n")
    with pytest.raises(AssertionError, match="they differ in the ends of their lines"):
        assert_golden("a 1.0", path)
    monkeypatch.setenv(WRITE, "1")
    assert_golden("a 2.0\n", path)
    assert path.read_text() == "a 2.0\n"


@pytest.mark.parametrize("name", ["logs", "messages"])
def test_the_texts_of_the_package_are_those_of_the_list(name: str) -> None:
    assert_golden(listed(name), LISTED / f"{name}.txt")
