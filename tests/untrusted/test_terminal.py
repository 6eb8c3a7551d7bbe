"""Foreign text on a terminal."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from exporter.untrusted.terminal import escape


def test_line_breaks_may_be_kept() -> None:
    assert escape("a\nb\r\x1b", keep="\n") == "a\nb\\u000d\\u001b"


@example("bücher.example 日本 🚀")
@example("\x9b31m\r\n\t\u202e\u2066\u2028\u00a0\ufeff\ud800\U000e0041")
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_becomes_printable_and_json_keeps_its_meaning(text: str) -> None:
    assert escape(text).isprintable()
    assert escape(text) == text or not text.isprintable()
    assert json.loads(escape(json.dumps(text, ensure_ascii=False))) == json.loads(json.dumps(text))
