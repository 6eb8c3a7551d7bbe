from collections.abc import Callable, Mapping
from typing import Any

import pytest

from exporter.explain.causes import moment
from exporter.web.page.page import figure, lapse, plural

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
    figure: {0.0: "0", 0.25: "0.25", 1234: "1,234", 12_345_678_901.5: "12,345,678,901.5"},
    lambda number: plural(number, "target"): {1: "1 target", 0: "0 targets", 12_000: "12,000 targets"},
    moment: {1_770_552_000.9: "2026-02-08 12:00:00 UTC"},
}


@pytest.mark.parametrize("written", WRITTEN, ids=lambda function: function.__name__)
def test_figures_are_written_for_people(written: Callable[[Any], str]) -> None:
    assert {value: written(value) for value in WRITTEN[written]} == WRITTEN[written]
