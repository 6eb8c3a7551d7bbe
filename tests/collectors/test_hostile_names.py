"""Other people choose names on a platform: with any name, the exposition remains valid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from exporter.collectors.dns_record_scans import COLLECTOR
from exporter.exposition.exposition import Format
from exporter.metric import label_value
from exporter.targets.target import Target
from tests.collectors.polls import exposed, poll

NAMES = {
    "quotes": ('a"b', r"a\"b"),
    "a line break": ("a\nb", r"a\nb"),
    "a backslash": ("a\\nb", r"a\\nb"),
    "an end of the series": ('x"} 1\nedge_up{a="b', r"x\"} 1\nedge_up{a=\"b"),
    "a NUL": ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
    "half a character": ("a\ud800b", "a?b"),
    "a carriage return": ("a\rb", "a\rb"),
    "another direction": ("a\u202eb", "a\u202eb"),
    "a line separator": ("a\u2028b", "a\u2028b"),
    "10,000 characters": ("x" * 10_000, "x" * 1023 + "…"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("name", "shown"), NAMES.values(), ids=NAMES)
async def test_a_hostile_name_is_one_label_value_that_parsers_read_as_it_is(name: str, shown: str) -> None:
    polled = await poll(COLLECTOR, Target("main", "dns_zone", "102", name), None)
    # Only a line feed ends a line of an exposition.
    text, openmetrics = exposed(COLLECTOR, polled), exposed(COLLECTOR, polled, form=Format.OPENMETRICS) + "# EOF\n"
    line = f'edge_dns_record_scan_found{{account="main",domain="{shown}",zone_id="102"}} 0.0'
    assert text.split("\n")[2:] == [line, ""]
    for (family,) in (read_text(text), read_openmetrics(openmetrics)):  # type: ignore[no-untyped-call]
        assert [sample.labels["domain"] for sample in family.samples] == [label_value(name)]


@given(name=st.text())
def test_any_name_is_read_back_as_it_is_shown(name: str) -> None:
    value = label_value(name)
    assert (len(value) <= 1024, "\0" in value, value == label_value(value)) == (True, False, True)
    assert value.encode().decode() == value
