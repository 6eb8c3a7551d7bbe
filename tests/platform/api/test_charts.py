"""Charts and record types: `charts.txt` has what each key and each chart is read as."""

from datetime import date
from pathlib import Path

from exporter.collectors.dns_statistics import record_type
from exporter.platform.api.charts import Buckets, bucket_time
from tests.golden import assert_golden

MOMENTS = (
    "2026-02-08", "2026-02-08T00:00:00", "2026-02-08T00:00:00Z", "2026-02-08 13:45", "2026-02-08T13:45:59.1234567Z",
    "2026-02-08T13:45:59.123456789Z", "2026-02-08T01:00:00+02:00", "2026-02-30", "2026-02-08T25:00:00Z",
    "0001-01-01T00:00:00+14:00", "2026-W06-7", "20260208", "08-02-2026", "30-02-2026", "8-2-2026",
    "٢٠٢٦-٠٢-٠٨", "2026-02-08\n", "yesterday", "",
)  # fmt: skip
TYPES = (
    "1", "28", "257", "65", "65534", "0", "65536", "028", "AAAA", "", "-1", "\uff12\uff18", "12345678901",
)  # fmt: skip
HOURS = {f"2026-02-08T{hour:02}:00:00Z": 10.0 for hour in range(24)}


def of(month: str, *days: int) -> dict[str, float | None]:
    """Return a chart with these days of a month."""
    return {f"{month}-{day:02}": 1 for day in days}


CHARTS: dict[str, dict[str, float | None]] = {
    "hours": {**HOURS, "2026-02-09T00:00:00Z": 3.0},
    "a day that is written in two ways": {"2026-02-08": 1.0, "2026-02-08T00:00:00Z": 2.0},
    "no date and no number": {"total": 9.0, "2026-02-07": None, "2026-02-08": 0},
    "days in a zone whose clocks change": {
        f"2026-03-{day}T00:00:00+0{hours}:00": 1.0 for day, hours in ((28, 1), (29, 1), (30, 2))
    },
    "a day that is null": {"2026-02-01": 1, "2026-02-02": None, "2026-02-03": 1},
    # A missing day proves nothing about the width.
    **{
        f"days {days}": of("2026-02", *days)
        for days in ((1, 2, 5, 8), (1, 3), (1, 3, 5, 9, 11, 13, 16), (1, 8), (1, 8, 20))
    },
    "weeks": {**of("2026-01", 25), **of("2026-02", 1, 8)},
    "weeks, one of which is null": {**of("2026-01", 25), **of("2026-02", 1, 8), "2026-02-15": None},
    "months": {**of("2025-12", 1), **of("2026-01", 1), **of("2026-02", 1), **of("2026-03", 1)},
    "two days each": of("2026-02", 4, 6, 8),
    "a day and a half each": {"2026-02-05T00:00": 1, "2026-02-06T12:00": 1, "2026-02-08T00:00": 1},
    "two days each, and a gap": of("2026-02", 1, 3, 5, 9, 11, 13, 15),
}


def counts(chart: dict[str, float | None]) -> str:
    buckets = Buckets.of(chart)
    days = {str(date.fromordinal(day)): count for day, count in (buckets.sums or {}).items()}
    return f"{days}{f', every {buckets.width:g} days' if buckets.width else ''}"


def test_charts_are_read() -> None:
    lines = [f"moment {key!r}: {bucket_time(key)}" for key in MOMENTS]
    lines += [f"record type {key!r}: {record_type(key)}" for key in TYPES]
    lines += [f"chart, {words}: {counts(chart)}" for words, chart in CHARTS.items()]
    assert_golden("\n".join([*lines, ""]), Path(__file__).parent / "charts.txt")
