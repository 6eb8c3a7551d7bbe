"""Regular expressions of users: what they match; `tests/settings/files` has the messages of wrong ones."""

from pathlib import Path

import pytest

from exporter.foreign.patterns import Pattern, PatternError
from tests.foreign.pattern_table import DIFFERENCES, SAME

UPGRADING = Path(__file__).parents[2] / "docs" / "upgrading.md"


def result(pattern: str, text: str) -> str:
    """Return what a pattern makes of a text, as the table says it."""
    try:
        made = Pattern(pattern)
    except PatternError:
        return "refused"
    return "whole" if made.fullmatch(text) else "part" if made.search(text) else "no"


def test_patterns_mean_what_they_mean_to_re2_but_for_what_the_table_lists() -> None:
    rows = [*SAME, *((pattern, text, ours) for kind in DIFFERENCES.values() for pattern, text, _, ours in kind)]
    assert [(pattern, text, result(pattern, text)) for pattern, text, _ in rows] == rows
    assert [row for kind in DIFFERENCES.values() for row in kind if row[2] == row[3]] == []


def test_each_kind_of_difference_is_documented() -> None:
    begins = {line.removeprefix("| ").partition(" | ")[0] for line in UPGRADING.read_text().splitlines()}
    assert set(DIFFERENCES) <= begins


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_no_pattern_takes_longer_than_the_text_is_long(pattern: str) -> None:
    """Python's engine would not end in a lifetime, so this test needs no clock."""
    made = Pattern(pattern)
    assert not made.search("a" * 5_000 + "!")
    assert not made.fullmatch("a" * 5_000 + "!")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(", "unclosed group at character 2"),
        ("ä(?=a)", "look-around, including look-ahead and look-behind, is not supported at character 2; match less "),
        ("a\n(b", "unclosed group"),
        (r"\w{1000}", "compiled regex exceeds size limit of 10485760 bytes"),
        ("\ud800", "holds half of a character"),
    ],
)
def test_a_wrong_pattern_is_refused_with_a_sentence(pattern: str, message: str) -> None:
    with pytest.raises(PatternError) as refused:
        Pattern(pattern)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_patterns_are_equal_by_their_text() -> None:
    """A reload compares the settings, so that unchanged parts are kept."""
    assert Pattern("a+") == Pattern("a+") != Pattern("a*")
