from datetime import UTC, date, datetime

import pytest

from exporter.platform.api.charts import bucket_time, calendar_day, daily
from exporter.platform.api.dns import record_type
from exporter.platform.errors import WrongShape


def day(text: str) -> int:
    return date.fromisoformat(text).toordinal()


@pytest.mark.parametrize(
    ("key", "moment"),
    [
        ("2026-02-08", datetime(2026, 2, 8, tzinfo=UTC)),
        ("2026-02-08T00:00:00", datetime(2026, 2, 8, tzinfo=UTC)),
        ("2026-02-08T00:00:00Z", datetime(2026, 2, 8, tzinfo=UTC)),
        ("2026-02-08 13:45", datetime(2026, 2, 8, 13, 45, tzinfo=UTC)),
        ("2026-02-08T13:45:59.1234567Z", datetime(2026, 2, 8, 13, 45, 59, 123456, UTC)),
        ("2026-02-08T13:45:59.123456789Z", datetime(2026, 2, 8, 13, 45, 59, 123456, UTC)),
        ("2026-02-08T01:00:00+02:00", datetime(2026, 2, 7, 23, tzinfo=UTC)),
        ("2026-02-30", None),
        ("2026-02-08T25:00:00Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("2026-W06-7", None),
        ("20260208", None),
        ("08-02-2026", None),
        ("٢٠٢٦-٠٢-٠٨", None),
        ("2026-02-08\n", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_buckets_key_is_a_moment_or_nothing(key: str, moment: datetime | None) -> None:
    assert bucket_time(key) == moment


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("08-02-2026", day("2026-02-08")),
        ("2026-02-08", day("2026-02-08")),
        ("2026-02-08T23:59:59Z", day("2026-02-08")),
        ("2026-02-08T23:59:59-02:00", day("2026-02-09")),
        ("30-02-2026", None),
        ("2026/02/08", None),
        ("8-2-2026", None),
        ("1770508800", None),
        ("", None),
    ],
)
def test_a_day_is_named_either_way_round(key: str, expected: int | None) -> None:
    assert calendar_day(key) == expected


HOURS = {f"2026-02-08T{hour:02}:00:00Z": 10.0 for hour in range(24)}
CHARTS: dict[str, tuple[dict[str, float | None], list[tuple[str, float]]]] = {
    "hours": ({**HOURS, "2026-02-09T00:00:00Z": 3.0}, [("2026-02-08", 240.0), ("2026-02-09", 3.0)]),
    "a day that is written in two ways": ({"2026-02-08": 1.0, "2026-02-08T00:00:00Z": 2.0}, [("2026-02-08", 3.0)]),
    "no date and no number": ({"total": 9.0, "2026-02-07": None, "2026-02-08": 0}, [("2026-02-08", 0.0)]),
    "a number that is no count": (
        {"2026-02-08T00:00": 1e308, "2026-02-08T01:00": -1, "2026-02-08T02:00": 3},
        [("2026-02-08", 3.0)],
    ),
    "days in a zone whose clocks change": (
        {"2026-03-28T00:00:00+01:00": 1.0, "2026-03-29T00:00:00+01:00": 1.0, "2026-03-30T00:00:00+02:00": 1.0},
        [("2026-03-27", 1.0), ("2026-03-28", 1.0), ("2026-03-29", 1.0)],
    ),
    "a day that is null": (
        {"2026-02-01": 1, "2026-02-02": None, "2026-02-03": 1},
        [("2026-02-01", 1), ("2026-02-03", 1)],
    ),
}


@pytest.mark.parametrize(("chart", "days"), CHARTS.values(), ids=CHARTS)
def test_the_buckets_of_a_day_add_up(chart: dict[str, float | None], days: list[tuple[str, float]]) -> None:
    assert daily(chart) == {day(text): count for text, count in days}


@pytest.mark.parametrize("days", [(1, 2, 5, 8), (1, 3), (1, 3, 5, 9, 11, 13, 16), (1, 8), (1, 8, 20)], ids=str)
def test_a_missing_day_proves_nothing_about_the_width(days: tuple[int, ...]) -> None:
    assert len(daily({f"2026-02-{number:02}": 1 for number in days})) == len(days)


@pytest.mark.parametrize(
    ("keys", "width"),
    [
        (("2026-01-25", "2026-02-01", "2026-02-08"), "7"),
        (("2025-12-01", "2026-01-01", "2026-02-01"), "31"),
        (("2026-02-04", "2026-02-06", "2026-02-08"), "2"),
        (("2026-02-05T00:00", "2026-02-06T12:00", "2026-02-08T00:00"), "1.5"),
        (tuple(f"2026-02-{day:02}" for day in (1, 3, 5, 9, 11, 13, 15)), "2"),
    ],
)
def test_buckets_longer_than_a_day_are_refused(keys: tuple[str, ...], width: str) -> None:
    with pytest.raises(WrongShape) as caught:
        daily(dict.fromkeys(keys, 1.0))
    assert str(caught.value) == f"the chart's buckets are {width} days long, so that the count of a day is not known"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("1", "A"), ("28", "AAAA"), ("257", "CAA"), ("65", "HTTPS"), ("65534", "TYPE65534"), ("0", "TYPE0"),
        ("65536", "TYPE65536"), ("028", "AAAA"), ("AAAA", "AAAA"), ("", ""), ("-1", "-1"),
        ("\uff12\uff18", "\uff12\uff18"), ("12345678901", "12345678901"),
    ],
)  # fmt: skip
def test_record_types_carry_their_mnemonics(key: str, name: str) -> None:
    assert record_type(key) == name
