"""Foreign text on a terminal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.foreign.terminal import escape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bücher.example 日本 🚀", "bücher.example 日本 🚀"),
        ("a\x1b[2Jb", r"a\u001b[2Jb"),
        ("\x9b31m", r"\u009b31m"),
        ("a\r\nb\tc", r"a\u000d\u000ab\u0009c"),
        ("\u202ecod.exe\u2066\u200f", r"\u202ecod.exe\u2066\u200f"),
        ("\u2028\u00a0\ufeff\ud800", r"\u2028\u00a0\ufeff\ud800"),
        ("\U000e0041", r"\udb40\udc41"),
    ],
)
def test_what_a_terminal_does_not_simply_show_is_escaped(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_line_breaks_may_be_kept() -> None:
    assert escape("a\nb\r\x1b", keep="\n") == "a\nb\\u000d\\u001b"


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_becomes_printable_and_json_keeps_its_meaning(text: str) -> None:
    assert escape(text).isprintable()
    assert json.loads(escape(json.dumps(text, ensure_ascii=False))) == json.loads(json.dumps(text))
