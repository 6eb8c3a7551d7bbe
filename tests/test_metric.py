import math
from collections.abc import Callable

import pytest

from exporter.collectors.measure import measure
from exporter.metric import Count, DayBuckets, Family, FamilyInfo, Kind, Metric, MonthToDate, label_value
from exporter.platform.errors import WrongShape

TARGET = ("main", "102")
Value = Callable[[object], object]


def measured(metric: Metric[object], labels: tuple[str, ...] = ()) -> tuple[Family | None, Count | None]:
    """Return the family and the count of one metric for any payload."""
    info = FamilyInfo(metric.name, metric.help, metric.kind, metric.unit, ("account", "zone_id", *labels))
    families, counts = measure(TARGET, (info,), (metric,), object())
    return (families[0] if families else None, counts[0] if counts else None)


def gauge(value: object, *labels: str) -> list[tuple[tuple[str, ...], float]]:
    """Return the samples of a gauge whose payload gives this value."""
    metric: Metric[object] = Metric("edge_a", "A.", value=lambda _: value, labels=labels)  # type: ignore[arg-type,return-value]
    family, count = measured(metric, labels)
    assert count is None
    return [] if family is None else [(sample.values, sample.value) for sample in family.samples]


def test_a_number_is_a_sample_of_its_target() -> None:
    assert [gauge(value) for value in (7, 1.5, True, 0, False)] == [
        [(TARGET, 7.0)],
        [(TARGET, 1.5)],
        [(TARGET, 1.0)],
        [(TARGET, 0.0)],
        [(TARGET, 0.0)],
    ]


def test_nothing_is_no_sample_and_never_a_zero() -> None:
    assert (gauge(None), gauge({}, "kind"), gauge({"a": None}, "kind")) == ([], [], [])


def test_a_mapping_is_a_sample_a_label() -> None:
    assert gauge({"a": 1, "b": None, "c": 0.5}, "kind") == [((*TARGET, "a"), 1.0), ((*TARGET, "c"), 0.5)]
    assert gauge({("a", "x"): 1, ("a", "y"): 2}, "kind", "other") == [
        ((*TARGET, "a", "x"), 1.0),
        ((*TARGET, "a", "y"), 2.0),
    ]


def test_keys_that_meet_in_one_label_value_are_one_series() -> None:
    assert gauge({"a\0": 1, "a\ufffd": 2}, "kind") == [((*TARGET, "a\ufffd"), 1.0)]


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 10**400])
def test_a_value_that_is_no_finite_number_fails_the_poll(number: float) -> None:
    with pytest.raises(WrongShape, match="edge_a cannot be read from the answer: "):
        gauge(number)
    with pytest.raises(WrongShape, match="edge_a cannot be read from the answer: "):
        gauge({"a": 1, "b": number}, "kind")


def test_what_a_payload_cannot_give_fails_the_poll_whole() -> None:
    def broken(_payload: object) -> float:
        raise ValueError("half a date")

    info = FamilyInfo("edge_a", "A.", Kind.GAUGE)
    metrics: tuple[Metric[object], ...] = (
        Metric("edge_a", "A.", value=lambda _: 1),
        Metric("edge_b", "B.", value=broken),
    )
    with pytest.raises(WrongShape, match="edge_b cannot be read from the answer: half a date"):
        measure((), (info, info), metrics, object())


@pytest.mark.parametrize(
    ("counted", "labels", "sources"),
    [
        (MonthToDate(1.5), (), (((), MonthToDate(1.5)),)),
        (DayBuckets({1: 2.0}, charted=False), (), (((), DayBuckets({1: 2.0}, charted=False)),)),
        (
            {"a": MonthToDate(1), "b\0": MonthToDate(2)},
            ("kind",),
            ((("a",), MonthToDate(1)), (("b\ufffd",), MonthToDate(2))),
        ),
    ],
)
def test_a_counters_source_goes_to_the_ledger(counted: object, labels: tuple[str, ...], sources: object) -> None:
    metric: Metric[object] = Metric("edge_a_total", "A.", counted=lambda _: counted, labels=labels)  # type: ignore[arg-type,return-value]
    family, count = measured(metric, labels)
    assert (family, metric.kind) == (None, Kind.COUNTER)
    assert count is not None
    assert (count.labels, count.sources, count.info.name) == (TARGET, sources, "edge_a_total")


def test_a_counter_without_a_source_counts_nothing() -> None:
    metric: Metric[object] = Metric("edge_a_total", "A.", counted=lambda _: None)
    assert measured(metric) == (None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("", ""),
        ("caf\u00e9", "caf\u00e9"),
        ("a\0b", "a\ufffdb"),
        ("caf\u00e9\0", "caf\u00e9\ufffd"),
        ("\ud83d", "?"),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1023 + "…"),
        ("\u00e9" * 1025, "\u00e9" * 1023 + "…"),
    ],
    ids=[
        "plain",
        "empty",
        "accent",
        "NUL",
        "NUL and accent",
        "surrogate",
        "longest",
        "too long",
        "too long, not ASCII",
    ],
)
def test_any_text_is_made_fit_for_a_label(text: str, value: str) -> None:
    assert label_value(text) == value
