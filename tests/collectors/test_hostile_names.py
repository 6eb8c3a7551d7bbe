"""Other people choose names on a platform: with any name, the exposition remains valid."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from exporter.collectors import discovery, dns_statistics, scripts
from exporter.collectors.dns_record_scans import COLLECTOR
from exporter.exposition.exposition import Format
from exporter.metric import label_value
from exporter.targets.target import Target
from tests.collectors.polls import exposed, poll, samples

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


async def test_hostile_names_in_answers_are_label_values_too() -> None:
    name = 'x"} 1\ny{a="\\\ud800\0'
    script = json.dumps(
        {"Id": 7, "Name": name, "DefaultHostname": name, "Integration": {"RepositorySettings": {"Name": name}}}
    )
    chart = json.dumps({"QueriesByTypeChart": {name: 1}})
    found = json.dumps({"Total": 1, "SearchResults": [{"Type": name, "Id": 1}]})
    shown = 'x\\"} 1\\ny{a=\\"\\\\?\N{REPLACEMENT CHARACTER}'
    account = Target("main", "account", "main", watched=(discovery.SEARCH,))
    texts = [
        exposed(scripts.COLLECTOR, await poll(scripts.COLLECTOR, Target("main", "script", "7"), script)),
        exposed(dns_statistics.COLLECTOR, await poll(dns_statistics.COLLECTOR, Target("main", "dns_zone", "1"), chart)),
        exposed(discovery.COLLECTOR, await poll(discovery.COLLECTOR, account, found)),
    ]
    labels = f'branch="",default_hostname="{shown}",release_id="",repository="{shown}",script="{shown}"'
    assert samples(texts[0], "edge_script_info") == [
        f'edge_script_info{{account="main",{labels},script_id="7",script_type="",system_hostname=""}} 1.0'
    ]
    assert samples(texts[1], "edge_dns_window_record_queries") == [
        f'edge_dns_window_record_queries{{account="main",domain="",record_type="{shown}",zone_id="1"}} 1.0'
    ]
    assert samples(texts[2], "edge_resources") == [f'edge_resources{{account="main",resource_type="{shown}"}} 1.0']


async def test_names_that_are_alike_after_they_are_cut_are_one_series() -> None:
    chart = json.dumps({"QueriesByTypeChart": {"x" * 2000: 1, "x" * 3000: 2}})
    polled = await poll(dns_statistics.COLLECTOR, Target("main", "dns_zone", "1"), chart)
    assert len(samples(exposed(dns_statistics.COLLECTOR, polled), "edge_dns_window_record_queries")) == 1


@given(name=st.text())
def test_any_name_is_read_back_as_it_is_shown(name: str) -> None:
    value = label_value(name)
    assert (len(value) <= 1024, "\0" in value, value == label_value(value)) == (True, False, True)
    assert value.encode().decode() == value
