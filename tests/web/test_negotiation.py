"""The accepted formats and encodings of clients, and the answers to them."""

import pytest

from exporter.exposition.exposition import Format
from exporter.web.headers import accepts_gzip, choose_format

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


@pytest.mark.parametrize(
    "accept",
    [
        PROMETHEUS_2,
        PROMETHEUS_3,
        "application/openmetrics-text",
        "Application/OpenMetrics-Text; Version=1.0.0",
        'application/openmetrics-text; version="1.0.0"',
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.5",
        "text/plain;q=0.1 , application/openmetrics-text ; q=0.2",
    ],
)
def test_openmetrics_is_given_to_those_who_ask_for_it(accept: str) -> None:
    assert choose_format(accept) is Format.OPENMETRICS


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        BROWSER,
        "text/plain;version=0.0.4",
        "application/json",
        "application/openmetrics-text;version=0.0.1",
        "application/openmetrics-text;version=2.0.0",
        "application/openmetrics-text;q=0",
        "application/openmetrics-text;Q=0",
        "application/openmetrics-text;q=0.2,text/plain;q=0.3",
        "application/openmetrics-text;q=0.2,*/*",
        "application/openmetrics-text;q=0.2,text/*;q=0.5,*/*;q=0.1",
        "application/openmetrics-text;q=much",
        "application/openmetrics-text;q=nan",
        ";;,,=;q",
    ],
)
def test_text_is_given_to_all_others(accept: str) -> None:
    assert choose_format(accept) is Format.TEXT


def test_the_most_specific_range_decides_how_much_text_is_liked() -> None:
    assert choose_format("application/openmetrics-text;q=0.5,text/plain;q=0.1,*/*") is Format.OPENMETRICS


@pytest.mark.parametrize("accepted", ["gzip", "GZIP", "x-gzip", "deflate, gzip;q=0.5", "*", "br, *;q=0.1", "gzip;q=2"])
def test_gzip_is_given_to_those_who_take_it(accepted: str) -> None:
    assert accepts_gzip(accepted)


@pytest.mark.parametrize(
    "accepted", ["", "identity", "deflate, br", "gzip;q=0", "gzip;Q=0", "gzip;q=0, *", "*;q=0", "gzip;q=x", "gzipped"]
)
def test_gzip_is_not_given_to_others(accepted: str) -> None:
    assert not accepts_gzip(accepted)
