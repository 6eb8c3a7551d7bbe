"""Damages a good answer: parts become missing, null, doubled, of another type, huge, deep, or invalid text."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.platform.payloads import GOOD

# Python writes no integer of more than 4,300 digits; the wire may well carry one.
_GIANT = "a number of 5,000 digits"
_NUMBERS = [0, -1, 2**31, 2**63, -(2**63) - 1, 10**40, 1.5, 28.0, -0.0, 1e308, 5e-324, True, False, _GIANT]
_TEXTS = [
    "", "\0", "\ud800", "\udfff\ud800", 'a"b\\c\nd', "\u202e", "x" * 20_000, "2026-02-08", "0001-01-01", "9999-12-31",
    "9999-12-31T23:59:59.9999999-14:00", "1e400", "NaN", "-1", "00", "08-02-2026", "31-12-9999",
]  # fmt: skip


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(_NUMBERS),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(_TEXTS),
    st.text(max_size=20),
)
_VALUES = st.one_of(
    _LEAVES,
    st.builds(_nested, st.sampled_from([1, 2, 40, 150, 250, 900])),
    st.recursive(
        _LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=6,
    ),
)

# A part and another value → what stands in the part's place: nothing, one value, or more of them.
_CHANGES: list[Callable[[Any, Any], list[Any]]] = [
    lambda _part, other: [other],
    lambda _part, _other: [],
    lambda _part, _other: [None],
    lambda part, _other: [part, part],
    lambda part, _other: [[part]],
    lambda _part, other: [{"a": other}],
    lambda part, other: [part, other],
    lambda part, _other: [str(part)],
]


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of every part of a JSON value, including the whole."""
    found = [place]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        found += _places(part, (*place, key))
    return found


def _changed(value: Any, place: tuple[Any, ...], change: Callable[[Any], list[Any]]) -> Any:
    """Return a JSON value in which one part is changed."""
    if not place:
        return (change(value) or [None])[0]
    step, *rest = place
    parts = [_changed(value[step], tuple(rest), change)] if rest else change(value[step])
    if isinstance(value, dict):
        others = {key: part for key, part in value.items() if key != step}
        return others | {f"{step}{'_' * number}": part for number, part in enumerate(parts)}
    return [*value[:step], *parts, *value[step + 1 :]]


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """Return the body of an operation's good answer, damaged several times or not at all."""
    value = GOOD[name]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.sampled_from(_places(value)))
        other = draw(_VALUES)
        change = draw(st.sampled_from(_CHANGES))
        value = _changed(value, place, lambda part, change=change, other=other: change(part, other))  # type: ignore[misc]
    return draw(_spoilt(json.dumps(value).replace(f'"{_GIANT}"', "7" * 5000).encode()))


@st.composite
def _spoilt(draw: st.DrawFn, raw: bytes) -> bytes:
    """Return bytes unchanged, truncated, as invalid UTF-8, or with something before or after them."""
    at = draw(st.integers(0, len(raw)))
    spoilt = [raw[:at], raw[:at] + b"\xff\xc3" + raw[at:], b"\xef\xbb\xbf" + raw, raw + b"x", b"<" + raw]
    return draw(st.sampled_from([raw, raw, raw, raw, raw, *spoilt]))
