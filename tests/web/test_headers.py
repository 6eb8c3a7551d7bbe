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
OPENMETRICS = [
    *(PROMETHEUS_2, PROMETHEUS_3, "application/openmetrics-text"),
    "Application/OpenMetrics-Text; Version=1.0.0",
    'application/openmetrics-text; version="1.0.0"',
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.5",
    "text/plain;q=0.1 , application/openmetrics-text ; q=0.2",
    # The most specific range decides how much text is liked.
    "application/openmetrics-text;q=0.5,text/plain;q=0.1,*/*",
]
TEXT = [
    *("", "*/*", BROWSER, "text/plain;version=0.0.4", "application/json", ";;,,=;q"),
    *(
        f"application/openmetrics-text;{odd}"
        for odd in ("version=0.0.1", "version=2.0.0", "q=0", "Q=0", "q=x", "q=nan")
    ),
    "application/openmetrics-text;q=0.2,text/plain;q=0.3",
    "application/openmetrics-text;q=0.2,*/*",
    "application/openmetrics-text;q=0.2,text/*;q=0.5,*/*;q=0.1",
]
PACKED = ["gzip", "GZIP", "x-gzip", "deflate, gzip;q=0.5", "*", "br, *;q=0.1", "gzip;q=2"]
PLAIN = ["", "identity", "deflate, br", "gzip;q=0", "gzip;Q=0", "gzip;q=0, *", "*;q=0", "gzip;q=x", "gzipped"]


@pytest.mark.parametrize("accept", [*OPENMETRICS, *TEXT])
def test_openmetrics_is_given_to_those_who_prefer_it_and_text_to_all_others(accept: str) -> None:
    assert choose_format(accept) is (Format.OPENMETRICS if accept in OPENMETRICS else Format.TEXT)


@pytest.mark.parametrize("accepted", [*PACKED, *PLAIN])
def test_gzip_is_given_to_those_who_accept_it(accepted: str) -> None:
    assert accepts_gzip(accepted) is (accepted in PACKED)
