import math
from collections.abc import Callable

import pytest

from exporter.collectors.collector import measure
from exporter.metric import FamilyInfo, Kind, Metric, declaration, is_count, label_value
from exporter.platform.errors import WrongShape

TARGET = ("main", "102")
Value = Callable[[object], object]


def gauge(value: object, *labels: str) -> list[tuple[tuple[str, ...], float]]:
    """Return the samples of a gauge whose payload gives this value."""
    metric: Metric[object] = Metric("edge_a", "A.", value=lambda _: value, labels=labels)  # type: ignore[arg-type,return-value]
    info = FamilyInfo(metric.name, metric.help, metric.kind, metric.unit, ("account", "zone_id", *labels))
    families, _ = measure(TARGET, (info,), (metric,), object())
    return [(sample.values, sample.value) for family in families for sample in family.samples]


def test_keys_that_meet_in_one_label_value_are_one_series() -> None:
    assert gauge({"a\0": 1, "a\ufffd": 2}, "kind") == [((*TARGET, "a\ufffd"), 1.0)]


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 10**400])
def test_a_value_that_is_no_finite_number_is_an_absent_sample(number: float) -> None:
    assert (gauge(number), gauge({"a": 1, "b": number}, "kind")) == ([], [((*TARGET, "a"), 1.0)])


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
)
def test_any_text_is_made_fit_for_a_label(text: str, value: str) -> None:
    assert label_value(text) == value


def test_a_declaration_in_the_state_of_an_earlier_version_is_known() -> None:
    assert declaration(("/things", "days")).hex() == "4e27780fe529322ade0fc5dd"


def test_a_count_fits_into_64_bits() -> None:
    numbers = (0, 2.0**63, -1, 2.0**63 + 2048, math.inf, math.nan)
    assert [number for number in numbers if is_count(number)] == [0, 2.0**63]
