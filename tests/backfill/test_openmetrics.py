"""The samples of a history, and its file."""

from datetime import date
from pathlib import Path

import pytest

from exporter.backfill.missing_days import BUILT_IN, counters_of
from exporter.backfill.openmetrics import DAY_MS, STEPS, PastSeries, samples, write

EPOCH = date(1970, 1, 1).toordinal()
HOUR = 3_600_000
INFO = counters_of(BUILT_IN[0])[0]


def test_a_day_is_spread_evenly_and_begins_just_after_its_midnight() -> None:
    assert {"15m": HOUR // 4, "1h": HOUR, "3h": HOUR * 3} == STEPS
    assert list(samples({EPOCH + 1: 25.0, EPOCH + 2: 0.5}, STEPS["3h"])) == [
        (DAY_MS + 1, 0.0),
        # A whole count grows by whole numbers.
        *((DAY_MS + HOUR * hours, 25 * hours // 24) for hours in range(3, 24, 3)),
        (2 * DAY_MS, 25.0),
        (2 * DAY_MS + 1, 25.0),
        *((2 * DAY_MS + HOUR * hours, 25 + 0.5 * hours / 24) for hours in range(3, 24, 3)),
        (3 * DAY_MS, 25.5),
    ]


def test_a_file_is_openmetrics_and_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    output = tmp_path / "history.om"
    past = [
        PastSeries(INFO, ("main", "7", "x\\y\nz"), {EPOCH: 8.0}),
        PastSeries(INFO, ("main", "8", ""), {EPOCH: 1e20}),
    ]
    assert write(output, past, {"job": 'a"b\udcff'}, STEPS["3h"]) == 18
    head, kind, first, *_, last, end = output.read_text().splitlines()
    assert (head.split()[:3], kind) == (["#", "HELP", "edge_dns_queries"], "# TYPE edge_dns_queries counter")
    series = 'edge_dns_queries_total{job="a\\"b?",account="main",'
    assert first == f'{series}zone_id="7",domain="x\\\\y\\nz"}} 0 0.001'
    assert (last, end) == (f'{series}zone_id="8",domain=""}} 1e+20 86400.000', "# EOF")
    # The second one has too few label values.
    failing = [PastSeries(INFO, values, {EPOCH: 1.0}) for values in (("main", "7", ""), ("main",))]
    with pytest.raises(ValueError, match="shorter"):
        write(tmp_path / "other.om", failing, {}, HOUR)
    assert list(tmp_path.iterdir()) == [output]
