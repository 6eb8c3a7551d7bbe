from exporter.explain.evidence import moment
from exporter.web.page.wording import ago, ahead, compact, interval, lapse, plural, rate


def test_a_duration_has_the_largest_sensible_unit() -> None:
    durations = {
        0.0: "0 s",
        0.0042: "4 ms",
        0.9: "900 ms",
        1.25: "1.2 s",
        9.0: "9 s",
        59.6: "60 s",
        89.0: "89 s",
        90.0: "2 min",
        3600.0: "60 min",
        5400.0: "2 h",
        86400.0: "24 h",
        5 * 86400.0: "5 d",
    }
    assert {seconds: lapse(seconds) for seconds in durations} == durations


def test_an_interval_is_exact() -> None:
    intervals = {
        0.5: "0.5 s",
        10.0: "10 s",
        90.0: "90 s",
        60.0: "1 min",
        300.0: "5 min",
        3600.0: "1 h",
        100.0: "100 s",
    }
    assert {seconds: interval(seconds) for seconds in intervals} == intervals


def test_ages_and_future_times_are_written_for_people() -> None:
    assert [ago(None), ago(0.4), ago(12.4), ago(7200)] == ["never", "now", "12 s ago", "2 h ago"]
    assert [ahead(0.0), ahead(3.2), ahead(600)] == ["now", "in 3 s", "in 10 min"]


def test_a_large_number_has_three_figures() -> None:
    numbers = {
        0: "0",
        980: "980",
        1000: "1.00k",
        12_345: "12.3k",
        123_456: "123k",
        4_560_000: "4.56M",
        7e9: "7.00G",
    }
    assert {number: compact(number) for number in numbers} == numbers


def test_a_rate_has_two_or_three_figures() -> None:
    rates = {0.0: "0", 0.0512: "0.051", 5.0: "5", 5.83: "5.8", 66.67: "66.7", 1234.5: "1,234"}
    assert {number: rate(number) for number in rates} == rates


def test_a_noun_agrees_with_its_number() -> None:
    assert [plural(1, "target"), plural(0, "target"), plural(12_000, "target")] == [
        "1 target",
        "0 targets",
        "12,000 targets",
    ]


def test_a_moment_is_in_utc() -> None:
    assert moment(1_770_552_000.9) == "2026-02-08 12:00:00 UTC"
