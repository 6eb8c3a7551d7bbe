"""Damages a good answer: parts become missing, null, doubled, of another type, huge, deep, or invalid text."""

import json
import re

from hypothesis import strategies as st

from tests.platform.payloads import GOOD

# Python writes no integer of more than 4,300 digits; the wire may well carry one.
_NUMBERS = [
    "0", "-1", "2147483648", "9223372036854775808", "-9223372036854775809", "1e40", "1.5", "28.0", "-0.0", "1e308",
    "5e-324", "1e999", "true", "false", "null", "NaN", "7" * 5000,
]  # fmt: skip
_TEXTS = [
    "", "\0", "\ud800", "\udfff\ud800", 'a"b\\c\nd', "\u202e", "x" * 20_000, "2026-02-08", "0001-01-01", "9999-12-31",
    "9999-12-31T23:59:59.9999999-14:00", "1e400", "NaN", "-1", "00", "08-02-2026", "31-12-9999",
]  # fmt: skip
_NESTED = [f"{'[' * depth}1{']' * depth}" for depth in (1, 40, 900)] + ['{"a":' * 250 + "1" + "}" * 250]
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
_NAMES = st.sampled_from(_TEXTS).map(json.dumps)
_VALUES = (
    st.sampled_from(_NUMBERS)
    | _NAMES
    | st.sampled_from(_NESTED)
    | st.recursive(
        _LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=6,
    ).map(json.dumps)
)
# The replacements of a value; the last ones only in arrays. A name is replaced by another name.
_CHANGES = ("{other}", "{other}", "null", "[{part}]", '{{"a": {other}}}')
_IN_ARRAYS = (*_CHANGES, "{part}, {part}", "{part}, {other}")
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|-?[0-9][0-9.]*|true|false|null')
_SCAN = json.JSONDecoder().raw_decode


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """Return the body of an operation's good answer, damaged several times or not at all."""
    text = json.dumps(GOOD[name])
    ends = {part.start(): _SCAN(text, part.start())[1] for part in _PART.finditer(text)}
    changed = len(text)
    # From the end on, so that the earlier places stay as they are.
    for begin in sorted(draw(st.lists(st.sampled_from(list(ends)), max_size=3, unique=True)), reverse=True):
        end = ends[begin]
        if end <= changed:
            other = draw(_NAMES if text[end : end + 1] == ":" else _VALUES)
            changes = ["{other}"] if text[end : end + 1] == ":" else _IN_ARRAYS if text[begin - 1] == "[" else _CHANGES
            change = draw(st.sampled_from(changes))
            text = text[:begin] + change.format(part=text[begin:end], other=other) + text[end:]
            changed = begin
    return draw(_spoilt(text.encode("utf-8", "surrogatepass")))


@st.composite
def _spoilt(draw: st.DrawFn, raw: bytes) -> bytes:
    """Return bytes unchanged, truncated, as invalid UTF-8, or with something before or after them."""
    at = draw(st.integers(0, len(raw)))
    spoilt = [raw[:at], raw[:at] + b"\xff\xc3" + raw[at:], b"\xef\xbb\xbf" + raw, raw + b"x", b"<" + raw]
    return draw(st.sampled_from([raw, raw, raw, raw, raw, *spoilt]))
