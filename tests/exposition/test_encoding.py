"""The bytes of single families, in both formats."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest as encode_text
from prometheus_client.openmetrics.exposition import generate_latest as encode_openmetrics

from exporter.daemon.account_observer import AccountObserver
from exporter.exposition.encoding import EOF_LINE, Format, NamedFamilies, encode_own, header, render
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.telemetry import Telemetry, WithoutCreated

GAUGE = FamilyInfo("edge_dns_window_queries", "Queries.", Kind.GAUGE, "", ("account", "zone_id"))
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
COUNTER = FamilyInfo("edge_dns_queries_total", "Queries.", Kind.COUNTER, "", ("zone_id",))
TIMESTAMP = FamilyInfo("edge_dns_day_start_timestamp_seconds", "A day.", Kind.GAUGE, "seconds", ("zone_id",))


def plain(registry: CollectorRegistry | WithoutCreated | NamedFamilies, form: Format) -> bytes:
    """Return each of the program's own families with its header."""
    return b"".join(family.headers[form] + family.lines for family in encode_own(registry, lambda _: True))


def test_a_gauge_has_the_same_header_in_both_formats() -> None:
    expected = b"# HELP edge_dns_window_queries Queries.\n# TYPE edge_dns_window_queries gauge\n"
    assert [header(GAUGE, form) for form in Format] == [expected, expected]


def test_a_counter_is_called_by_its_stem_in_openmetrics() -> None:
    assert header(COUNTER, Format.TEXT) == (
        b"# HELP edge_dns_queries_total Queries.\n# TYPE edge_dns_queries_total counter\n"
    )
    assert header(COUNTER, Format.OPENMETRICS) == (
        b"# HELP edge_dns_queries Queries.\n# TYPE edge_dns_queries counter\n"
    )


def test_a_unit_is_told_in_openmetrics_alone() -> None:
    name = b"edge_dns_day_start_timestamp_seconds"
    described = b"# HELP " + name + b" A day.\n# TYPE " + name + b" gauge\n"
    assert header(TIMESTAMP, Format.TEXT) == described
    assert header(TIMESTAMP, Format.OPENMETRICS) == described + b"# UNIT " + name + b" seconds\n"


def test_help_is_escaped_as_each_format_wants_it() -> None:
    info = FamilyInfo("edge_x", 'a\\b\nc "d"', Kind.GAUGE)
    assert header(info, Format.TEXT).splitlines()[0] == rb'# HELP edge_x a\\b\nc "d"'
    assert header(info, Format.OPENMETRICS).splitlines()[0] == rb"# HELP edge_x a\\b\nc \"d\""


def test_sample_lines_are_the_same_bytes_in_both_formats() -> None:
    family = Family(TIMESTAMP, (Sample(("101",), 1770508800.0), Sample(("102",), 0.5)))
    lines = (
        b'edge_dns_day_start_timestamp_seconds{zone_id="101"} 1.7705088e+09\n'
        b'edge_dns_day_start_timestamp_seconds{zone_id="102"} 0.5\n'
    )
    assert [render(family, form) for form in Format] == [lines, lines]


def test_label_values_are_escaped_and_labels_sorted() -> None:
    info = FamilyInfo("edge_x", "X.", Kind.GAUGE, "", ("zone", "account"))
    family = Family(info, (Sample(('q"uote', "back\\slash\nline"), 1.0), Sample(("ünï ☃", ""), 2.0)))
    assert render(family).decode() == (
        'edge_x{account="back\\\\slash\\nline",zone="q\\"uote"} 1.0\nedge_x{account="",zone="ünï ☃"} 2.0\n'
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [(math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN"), (0.0, "0.0"), (1e6, "1e+06"), (-2.5, "-2.5")],
)
def test_values_are_written_as_go_writes_them(value: float, written: str) -> None:
    assert render(Family(FamilyInfo("edge_x", "X.", Kind.GAUGE), (Sample((), value),))).decode() == (
        f"edge_x {written}\n"
    )


def test_a_creation_is_told_where_it_is_asked_for_and_known() -> None:
    family = Family(COUNTER, (Sample(("101",), 7.0, 1770508800.0), Sample(("102",), 8.0)))
    assert render(family, Format.OPENMETRICS, created=True) == (
        b'edge_dns_queries_total{zone_id="101"} 7.0\n'
        b'edge_dns_queries_created{zone_id="101"} 1.7705088e+09\n'
        b'edge_dns_queries_total{zone_id="102"} 8.0\n'
    )
    assert b"_created" not in render(family, Format.OPENMETRICS)


def test_labels_without_values_are_a_fault() -> None:
    with pytest.raises(ValueError, match="labels"):
        render(Family(GAUGE, (Sample(("main",), 1.0),)))


def test_own_families_are_what_the_client_library_writes_in_either_format() -> None:
    registry = CollectorRegistry()
    Gauge("edge_a", 'Of "a\\b".', ("x",), registry=registry).labels('1"').set(1.5)
    Counter("edge_b", "Of b.", ("x",), registry=registry).labels("2").inc()
    Histogram("edge_c_seconds", "Of c.", ("x",), unit="seconds", registry=registry).labels("3").observe(0.3)
    Gauge("edge_empty", "Of nothing.", ("x",), registry=registry)
    own = WithoutCreated(registry)
    assert plain(own, Format.TEXT) == encode_text(own)
    assert plain(own, Format.OPENMETRICS) + EOF_LINE == encode_openmetrics(own)  # type: ignore[no-untyped-call]


def test_the_program_s_own_metrics_are_what_the_client_library_writes() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    AccountObserver(telemetry, "main", lambda: 1.0).attempted("search", "200", 0.1, None)
    own = NamedFamilies(telemetry.exposed(), frozenset(info.name for info in telemetry.families()))
    assert plain(own, Format.TEXT) == encode_text(own)
    assert plain(own, Format.OPENMETRICS) + EOF_LINE == encode_openmetrics(own)  # type: ignore[no-untyped-call]


def test_own_families_go_by_either_name_and_by_their_samples_names() -> None:
    registry = CollectorRegistry()
    Counter("edge_b", "Of b.", registry=registry).inc()
    Histogram("edge_c", "Of c.", buckets=(1,), registry=registry).observe(0.5)
    own = WithoutCreated(registry)

    def lines(*names: str) -> list[bytes]:
        text = plain(NamedFamilies(own, frozenset(names)), Format.TEXT)
        return [line for line in text.splitlines() if not line.startswith(b"#")]

    assert lines("edge_b") == lines("edge_b_total") == [b"edge_b_total 1.0"]
    assert lines("edge_c_count") == [b"edge_c_count 1.0"]
    assert len(lines("edge_c")) == 4
    assert lines("edge_d") == []


@given(st.lists(st.tuples(TEXT, TEXT, st.floats() | st.integers(-(2**60), 2**60)), max_size=3))
def test_lines_are_those_of_the_client_library(drawn: list[tuple[str, str, float]]) -> None:
    registry = CollectorRegistry()
    gauge = Gauge("edge_x_seconds", "X.", ["zone_id", "domain"], registry=registry)
    for zone, domain, value in drawn:
        gauge.labels(zone, domain).set(value)
    info = FamilyInfo("edge_x_seconds", "X.", Kind.GAUGE, "seconds", ("zone_id", "domain"))
    unique = {(zone, domain): value for zone, domain, value in drawn}
    family = Family(info, tuple(Sample(labels, value) for labels, value in unique.items()))
    assert header(info, Format.TEXT) + render(family) == encode_text(registry)
