# ruff: noqa: E501 - tables as they are printed
"""The table of `check` for terminals of any width, and its summaries."""

import re
from pathlib import Path

import pytest

from exporter.commands.check import report
from exporter.commands.check.findings import render
from exporter.commands.check.report import Row
from exporter.commands.check.results import AccountResult, TargetResult
from exporter.commands.output.table import lay_out
from exporter.platform.errors import Forbidden, NotAvailable, PlatformError
from exporter.polling.timetable import Capacity
from exporter.targets.target import Target
from tests.golden import assert_golden

ENOUGH = Capacity(10.0, 32, 0.1)
ROWS = [
    Row("main", "discovery", "account/main", "main", "ok", "found 12 DNS zones, 4 scripts, 3 shield zones, 6 rate limits"),
    Row("main", "dns_statistics", "12 targets", "", "ok", "179 series"),
    Row("main", "dns_statistics", "dns_zone/999", "old.example.net", "failing", "there is no such DNS zone: the platform answered 404"),
    Row("other", "", "account/other", "", "failing", "the key is not accepted: the platform answered 401"),
]  # fmt: skip


def plain(text: str) -> str:
    """Return the text on a terminal, without colours."""
    return "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in text.splitlines())


def statistics(zone_id: int, error: PlatformError | None = None) -> TargetResult:
    target = Target("main", "dns_zone", str(zone_id), f"zone-{zone_id}.example")
    return TargetResult("dns_statistics", target, error)


def test_eighty_columns_break_no_collector_and_no_result() -> None:
    assert_golden(plain(render(ROWS, 80)), Path(__file__).with_name("narrow.txt"))


def test_a_wide_terminal_gets_the_whole_table_in_colours() -> None:
    lines = render(ROWS, 200).splitlines()
    assert [line.count("\x1b[32m") for line in lines] == [0, 1, 1, 0, 0]
    assert [line.count("\x1b[31m") for line in lines] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("width", range(30, 200, 7))
def test_no_line_is_wider_than_the_terminal_unless_it_is_narrower_than_words(width: int) -> None:
    assert max(len(line) for line in plain(render(ROWS, width)).splitlines()) <= max(width, 44)


def test_a_table_that_does_not_fit_40_columns_is_paragraphs() -> None:
    rows = [Row("main", "dns_statistics", "dns_zone/101", "prod-shop.example", "failing", "the key is not accepted")]
    assert render(rows, 40).splitlines() == [
        "account main",
        "dns_statistics",
        "  dns_zone/101",
        "  prod-shop.example",
        "  \x1b[31mfailing\x1b[0m",
        "  the key is not accepted",
    ]


def test_a_table_becomes_paragraphs_only_where_it_does_not_fit() -> None:
    rows = [("x", "b" * 20), ("", "c"), ("y", "")]
    assert [lay_out("AB", rows, width, narrow=lambda: "narrow")[0] for width in (23, 22)] == ["A", "n"]
    assert lay_out("AB", rows, 19, folded="B").splitlines()[1] == f"x  {'b' * 16}"
    assert lay_out("AB", rows, 18, folded="B").splitlines() == ["x", f"  {'b' * 16}", "  bbbb", "  c", "y"]


def test_a_wide_character_takes_two_columns() -> None:
    assert lay_out("AB", [("日本🚀", "x"), ("e\u0301", "y")], None).splitlines() == [
        "A       B",
        "日本🚀  x",
        "e\u0301       y",
    ]
    assert lay_out("AB", [("日" * 10, "x")], 22, narrow=lambda: "narrow") == "narrow"


def test_a_dumb_terminal_and_one_that_wants_no_colour_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row("main", "dns_statistics", "dns_zone/101", "", "failing", "")]
    for variable, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            assert "\x1b[3" not in render(rows, 80)


NO, FORBIDDEN = "the key or token may not read this: no", Forbidden("no")
NOT_AVAILABLE = NotAvailable("the plan has none")


@pytest.mark.parametrize(
    ("tried", "rows"),
    [
        # Five good targets are listed in the order of their numbers, six are not.
        ([statistics(number) for number in (10, 9, 100, 2, 1)],
         [(f"dns_zone/{number}", f"zone-{number}.example", "ok", "0 series") for number in (1, 2, 9, 10, 100)]),
        ([statistics(number) for number in range(6)], [("6 targets", "", "ok", "0 series")]),
        # Ten that fail alike are listed, of eleven five.
        ([statistics(number, FORBIDDEN) for number in range(10)],
         [(f"dns_zone/{number}", f"zone-{number}.example", "failing", NO) for number in range(10)]),
        ([statistics(number, FORBIDDEN) for number in range(11)],
         [*((f"dns_zone/{number}", f"zone-{number}.example", "failing", NO) for number in range(5)),
          ("6 targets more", "", "failing", "the same")]),
        ([statistics(number, Forbidden(f"no {number % 2}")) for number in range(12)],
         [(f"dns_zone/{number}", f"zone-{number}.example", "failing", f"{NO} {number % 2}")
          for number in (*range(0, 12, 2), *range(1, 12, 2))]),
        # Failures of different kinds are listed apart.
        ([statistics(0, NOT_AVAILABLE), statistics(1, FORBIDDEN), statistics(2)],
         [("dns_zone/2", "zone-2.example", "ok", "0 series"),
          ("dns_zone/0", "zone-0.example", "the platform has none", "the plan has none"),
          ("dns_zone/1", "zone-1.example", "failing", NO)]),
        ([statistics(number, NOT_AVAILABLE) for number in range(6)],
         [("6 targets", "", "the platform has none", "the plan has none")]),
    ],
)  # fmt: skip
def test_many_targets_are_summarised(tried: list[TargetResult], rows: list[tuple[str, ...]]) -> None:
    result = AccountResult("main", ENOUGH, 1.0, tried)
    assert [row.cells()[2:] for row in report.rows([result])] == rows
    assert report.faults([result]) == sum(isinstance(one.error, Forbidden) for one in tried)


def test_an_account_that_cannot_be_asked_is_one_fault_whatever_was_tried() -> None:
    tried = [statistics(number, FORBIDDEN) for number in (1, 2)]
    closed = AccountResult("main", ENOUGH, 1.0, tried, Forbidden("the platform answered 403"), {"scripts": 3})
    words = "the key is not permitted to make any of the polls: the platform answered 403; 3 more polls were not tried"
    assert [row.cells() for row in report.rows([closed])] == [("main", "", "account/main", "", "failing", words)]
    assert (report.faults([closed]), list(report.loads([closed]))) == (1, [])
    closed.barrier = Forbidden("é" * 300)
    found = report.as_json((), [closed])
    assert '"detail": "the key is not permitted to make any of the polls: ééé' in found
    assert '"ok": false,\n  "configuration": [],\n  "polls": 2,\n  "faults": 1,\n' in found
    assert '"ok": true,\n' in report.as_json((), [])
    (row,) = report.rows([closed])
    assert [row._replace(detail=row.detail[:size]).cells()[-1][298:] for size in (300, 301)] == ["éé", "é…"]


@pytest.mark.parametrize(
    ("demand", "capacity", "line"),
    [
        (1.0, ENOUGH, "main: the targets need 1 requests/s, the budget allows 10"),
        (12.3, ENOUGH, ("main: the targets need 12.3 requests/s, the budget allows 10 (intervals would be 1.3 times as "
                        "long as configured): raise requests_per_second to 13 or lengthen intervals")),
        (20.0, Capacity(10.0, 1, 0.1),
         ("main: the targets need 20 requests/s, the budget allows 10 (intervals would be 2.1 times as long as "
          "configured): raise requests_per_second to 21.1 or lengthen intervals")),
        (8.0, Capacity(10.0, 2, 2.5),
         ("main: the targets need 8 requests/s, the budget allows 10, but with 2 in flight and answers that take 2.5 s "
          "no more than 0.8 are made (intervals would be 10.5 times as long as configured): raise max_in_flight or "
          "lengthen intervals")),
        (0.0123, Capacity(0.5, 2), "main: the targets need 0.012 requests/s, the budget allows 0.5"),
    ],
)  # fmt: skip
def test_the_budget_is_set_against_what_is_asked_for(demand: float, capacity: Capacity, line: str) -> None:
    assert list(report.loads([AccountResult("main", capacity, demand)])) == [line]
