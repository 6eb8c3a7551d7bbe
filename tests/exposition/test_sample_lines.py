"""The bytes of single families, in both formats."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest as encode_text
from prometheus_client.openmetrics.exposition import generate_latest as encode_openmetrics

from exporter.exposition.sample_lines import END, Format, encode, header, own_families, render
from exporter.metric import Family, FamilyInfo, Kind, Sample

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def plain(registry: CollectorRegistry, form: Format, *names: str) -> bytes:
    """Return the program's own families with their headers, all of them or those of these names."""
    return encode(own_families(registry, lambda _: True, names), form)


@pytest.fixture
def registry() -> CollectorRegistry:
    """Return a registry without `_created` samples, as that of the exporter's own metrics is."""
    disable_created_metrics()  # type: ignore[no-untyped-call]
    return CollectorRegistry()


def test_own_families_are_what_the_client_library_writes_in_either_format(registry: CollectorRegistry) -> None:
    Gauge("edge_a", 'Of "a\\b".', ("x",), registry=registry).labels('1"').set(1.5)
    Counter("edge_b", "Of b.", ("x",), registry=registry).labels("2").inc()
    Histogram("edge_c_seconds", "Of c.", ("x",), unit="seconds", registry=registry).labels("3").observe(0.3)
    Gauge("edge_empty", "Of nothing.", ("x",), registry=registry)
    assert plain(registry, Format.TEXT) == encode_text(registry)
    assert plain(registry, Format.OPENMETRICS) + END[Format.OPENMETRICS] == encode_openmetrics(registry)  # type: ignore[no-untyped-call]


def test_own_families_go_by_either_name_and_by_their_samples_names(registry: CollectorRegistry) -> None:
    Counter("edge_b", "Of b.", registry=registry).inc()
    Histogram("edge_c", "Of c.", buckets=(1,), registry=registry).observe(0.5)

    def lines(*names: str) -> list[bytes]:
        text = plain(registry, Format.TEXT, *names)
        return [line for line in text.splitlines() if not line.startswith(b"#")]

    assert lines("edge_b") == lines("edge_b_total") == [b"edge_b_total 1.0"]
    assert lines("edge_c") == lines("edge_c_count")
    assert len(lines("edge_c")) == 4
    assert lines("edge_d") == []


@example([('q"uote', "", math.inf), ("ünï ☃", "back\\slash", 1e6), ("1", "%s", -2.5), ("2", "a\nline", -math.inf)])
@given(st.lists(st.tuples(TEXT, TEXT, st.floats() | st.integers(-(2**60), 2**60)), max_size=3))
def test_lines_are_those_of_the_client_library(drawn: list[tuple[str, str, float]]) -> None:
    registry = CollectorRegistry()
    gauge = Gauge("edge_x_seconds", "X.", ["zone_id", "domain"], registry=registry)
    for zone, domain, value in drawn:
        gauge.labels(zone, domain).set(value)
    info = FamilyInfo("edge_x_seconds", "X.", Kind.GAUGE, "seconds", ("zone_id", "domain"))
    unique = {(zone, domain): value for zone, domain, value in drawn}
    samples = tuple(Sample(labels, value) for labels, value in unique.items())
    assert header(info, Format.TEXT) + render(Family(info, samples)) == encode_text(registry)
