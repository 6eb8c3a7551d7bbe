"""Regular expressions of users: what they match, and how long that takes; `tests/settings/files` has the messages."""

import sys

import pytest

from exporter.foreign.patterns import Pattern, PatternError


@pytest.mark.parametrize(
    ("pattern", "text", "found_and_whole"),
    [
        ("^prod-", "prod-a.example", (True, False)),
        ("a.*e", "a.example", (True, True)),
        (r"\d{2}", "zone 42", (True, False)),
        ("(?i)PROD", "prod", (True, True)),
        ("[[:alpha:]]+", "zone", (True, True)),
        ("ä.", "bäö", (True, False)),
        (".", "\ud800", (True, True)),
        ("b", "a", (False, False)),
    ],
)
def test_a_pattern_matches_as_prometheus_matches_it(
    pattern: str, text: str, found_and_whole: tuple[bool, bool]
) -> None:
    made = Pattern(pattern)
    assert (made.search(text), made.fullmatch(text)) == found_and_whole


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_no_pattern_takes_longer_than_the_text_is_long(pattern: str) -> None:
    """Python's engine would not end in a lifetime, so this test needs no clock."""
    made = Pattern(pattern)
    assert not made.search("a" * 100_000 + "!")
    assert not made.fullmatch("a" * 100_000 + "!")


def test_a_refusal_writes_nothing_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        Pattern("(?=a)")
    with pytest.raises(PatternError, match="half of a character"):
        Pattern("\ud800")
    sys.stderr.flush()
    assert capfd.readouterr().err == ""


def test_patterns_are_equal_by_their_text() -> None:
    """A reload compares the settings, so that unchanged parts are kept."""
    assert Pattern("a+") == Pattern("a+") != Pattern("a*")
