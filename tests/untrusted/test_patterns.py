"""Regular expressions of users: what they match; `tests/settings/files` has the messages of wrong ones."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from exporter.untrusted.patterns import Pattern, PatternError

UPGRADING = Path(__file__).parents[2] / "docs" / "upgrading.md"
# (pattern, text, result). Results are `whole` (the pattern matches the whole text), `part` (only a part), `no` and
# `refused` (it is no pattern). The engine is a library: a row here tests what the exporter adds or guarantees.
MATCHES: tuple[tuple[str, str, str], ...] = (
    ("prod", "my-prod-1", "part"),
    ("^prod-", "a-prod-", "no"),
    ("", "anything", "part"),
    ("^a|b$", "a-b", "part"),
    ("a|ab", "ab", "whole"),
    ("(a|b)|(c|d)", "d", "whole"),
    ("x$", "box\n", "no"),
    (".", "\ud800", "whole"),
    ("a #", "a #", "whole"),
    ("(?x)a # c", "a", "whole"),
    (r".*\.example\.(com|net)$", "shop.example.net", "whole"),
    ("(?!a)b", "b", "refused"),
    (r"(a)\1", "aa", "refused"),
)
# What docs/upgrading.md says of each kind of pattern that Prometheus reads otherwise.
DIFFERENCES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    r"`\d`, `\D`, `\w`, `\W`, `\s`, `\S`, `\b`, `\B`": ((r"^\d$", "\u0663", "whole"), (r"(?-u:\bx)", "äx", "part")),
    "`&&`, `--`, `~~` and `[` in a class": (
        ("[a&&b]", "&", "no"),
        (r"[a\&b]", "&", "whole"),
        (r"[\d-z]", "-", "refused"),
    ),
    "a `{` that begins no repetition": (
        ("a{x}", "a{x}", "refused"),
        ("a{,3}", "aaa", "refused"),
        ("a{ 2 }", "aa", "whole"),
    ),
    "large repetitions": (
        ("a{1001}", "a", "no"),
        (r"\w{1000}", "a", "refused"),
        ("(" * 300 + "a" + ")" * 300, "a", "refused"),
    ),
    "a repetition of a repetition": (("a++", "aa", "whole"), ("a{2}{3}", "aaaaaa", "whole")),
    r"`\<`, `\>`, `\b{start}`": ((r"\<a", "a", "whole"),),
    "`\\Q\u2026\\E`, `\\C`, octal numbers": ((r"\Qa.b\E", "a.b", "refused"), (r"\101", "A", "refused")),
    r"`\u0041`, `\u{41}`, `\U00000041`": ((r"\u{41}", "A", "whole"),),
    "`\\p{\u2026}`": ((r"\p{Script=Greek}", "λ", "whole"), (r"\p{^Greek}", "a", "refused")),
    "names of groups": (("(?P<n>a)(?P<n>b)", "ab", "refused"), ("(?P<a.b>a)", "a", "whole")),
    "flags": (("(?x) a b", "ab", "whole"), ("(?x) ^a|b$", "a-b", "part"), ("(?ii)A", "a", "refused")),
}


def result(pattern: str, text: str) -> str:
    """Return whether a pattern matches the whole text, a part of it or nothing, or is refused."""
    try:
        made = Pattern(pattern)
    except PatternError:
        return "refused"
    return "whole" if made.fullmatch(text) else "part" if made.search(text) else "no"


def test_patterns_match_as_the_documents_say() -> None:
    rows = [*MATCHES, *(row for kind in DIFFERENCES.values() for row in kind)]
    assert [(pattern, text, result(pattern, text)) for pattern, text, _ in rows] == rows
    begins = {line.removeprefix("| ").partition(" | ")[0] for line in UPGRADING.read_text().splitlines()}
    assert set(DIFFERENCES) <= begins


def test_no_pattern_takes_longer_than_the_text_is_long() -> None:
    """Python's engine would not end in a lifetime, so this test needs no clock."""
    made = Pattern("^(([a-z])+.)+[A-Z]([a-z])+$")
    assert not made.search("a" * 5_000 + "!")
    assert not made.fullmatch("a" * 5_000 + "!")


def test_a_half_of_a_character_is_refused() -> None:
    with pytest.raises(PatternError, match="contains half of a surrogate pair"):
        Pattern("\ud800")


def test_patterns_are_equal_by_their_text() -> None:
    """A reload compares the settings, so that unchanged parts are kept."""
    assert Pattern("a+") == Pattern("a+") != Pattern("a*")
