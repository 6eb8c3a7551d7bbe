"""Help texts and tables on a narrow terminal."""

import pytest

from exporter.cli import COMMANDS
from exporter.commands.call.operations import listing
from exporter.commands.check.findings import render
from exporter.commands.check.report import Row
from tests.commands.shell import invoke

# Commands to copy, and names that cannot be broken, stay whole.
EXAMPLES = (
    "edge-exporter ",
    "source ",
    "bash ",
    "zsh ",
    "fish ",
    "--",
    "EDGE_EXPORTER_",
    "(EDGE_EXPORTER_",
    "PLATFORM_",
)


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits(name: str, width: int) -> None:
    lines = invoke(name, "--help", environ={"COLUMNS": str(width)}).out.splitlines()
    assert [line for line in lines if len(line) > width and not line.strip().startswith(EXAMPLES)] == []
    prose = [line.strip() for line in lines if line.startswith("  ")]
    assert sum(len(line) for line in prose) / len(prose) > width / 4


def test_a_table_that_does_not_fit_40_columns_is_paragraphs() -> None:
    rows = [Row("main", "dns_statistics", "dns_zone/101", "prod-shop.example", "failed", "the key is not accepted")]
    assert render(rows, 40).splitlines() == [
        "account main",
        "dns_statistics",
        "  dns_zone/101",
        "  prod-shop.example",
        "  \x1b[31mfailed\x1b[0m",
        "  the key is not accepted",
    ]


def test_a_dumb_terminal_and_one_that_wants_no_colour_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row("main", "dns_statistics", "dns_zone/101", "", "failed", "")]
    for variable, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            assert "\x1b[3" not in render(rows, 80)


def test_the_list_of_operations_fits_40_columns() -> None:
    lines = listing(40).splitlines()
    assert max(map(len, lines)) <= 40
    first = ["dns_statistics", "  Query statistics of a DNS zone, by", "  default of the last 30 days."]
    assert lines[:3] == first
