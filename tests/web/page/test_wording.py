from collections.abc import Callable, Mapping
from typing import Any

import pytest

from exporter.explain.cause import moment
from exporter.web.page.wording import ago, ahead, compact, interval, lapse, plural, rate

WRITTEN: Mapping[Callable[[Any], str], Mapping[float, str]] = {
    lapse: {
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
        1.5 * 86400.0: "2 d",
    },
    interval: {0.5: "0.5 s", 10.0: "10 s", 90.0: "90 s", 60.0: "1 min", 300.0: "5 min", 3600.0: "1 h", 100.0: "100 s"},
    ago: {0.5: "now", 0.6: "1 s ago", 12.4: "12 s ago", 7200: "2 h ago"},
    ahead: {0.5: "now", 3.2: "in 3 s", 600: "in 10 min"},
    compact: {980: "980", 1000: "1.00k", 10_500: "10.5k", 101_000: "101k", 1e6: "1.00M", 1e9: "1.00G", 1e12: "1.00T"},
    rate: {0.0: "0", 0.0512: "0.051", 5.0: "5", 5.83: "5.8", 123.4: "123", 1234.5: "1,234"},
    lambda number: plural(number, "target"): {1: "1 target", 0: "0 targets", 12_000: "12,000 targets"},
    moment: {1_770_552_000.9: "2026-02-08 12:00:00 UTC"},
}


@pytest.mark.parametrize("written", WRITTEN, ids=lambda function: function.__name__)
def test_figures_are_written_for_people(written: Callable[[Any], str]) -> None:
    assert {value: written(value) for value in WRITTEN[written]} == WRITTEN[written]
