"""How single values are read and written."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.validation.types import format_duration, parse_duration, parse_listen


def seconds_of(text: str) -> float | None:
    """Return the seconds of a duration; None if it is refused."""
    with suppress(ValueError):
        return parse_duration(text)
    return None


READ: list[tuple[Any, dict[str, Any]]] = [
    (
        seconds_of,
        {"10s": 10.0, "5m": 300.0, "1h30m": 5400.0, "1d": 86_400.0, "2w": 1_209_600.0, "500ms": 0.5, "1.5s": 1.5}
        | {"1m30s": 90.0, " 10s ": 10.0}
        | dict.fromkeys(["", " ", "s", "10x", "-5s", "+5s", "5 m", "30m1h", "1m1m", "1h-5m", "nan", "inf", "1e3"])
        | dict.fromkeys(["٣s", ".", "9" * 400, "0", "30", "0.25"]),
    ),
    (
        lambda text: (parse_listen(text).host, parse_listen(text).port, str(parse_listen(text))),
        {
            "127.0.0.1:9877": ("127.0.0.1", 9877, "127.0.0.1:9877"),
            "[::1]:9877": ("::1", 9877, "[::1]:9877"),
            "[fe80::2%25eth0]:1": ("fe80::2%eth0", 1, "[fe80::2%eth0]:1"),
            "[fe80::2%eth0]:1": ("fe80::2%eth0", 1, "[fe80::2%eth0]:1"),
            ":9877": ("", 9877, ":9877"),
            "localhost:0": ("localhost", 0, "localhost:0"),
        },
    ),
]


@pytest.mark.parametrize(("read", "text", "value"), [(read, *item) for read, values in READ for item in values.items()])
def test_a_text_is_read_as_its_value(read: Any, text: str, value: object) -> None:
    assert read(text) == value


@given(st.integers(min_value=0, max_value=10**12), st.text(max_size=40))
def test_a_duration_survives_being_written_and_read_and_any_text_is_a_finite_one_or_none(ms: int, text: str) -> None:
    assert parse_duration(format_duration(ms / 1000)) == pytest.approx(ms / 1000)
    seconds = seconds_of(text)
    assert seconds is None or 0 <= seconds < float("inf")
