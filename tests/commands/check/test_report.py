# ruff: noqa: E501 - tables as they are printed
"""The table of `check` for terminals of any width, and its summaries."""

import re
from textwrap import dedent

import pytest

from exporter.commands.check import report
from exporter.commands.check.findings import render
from exporter.commands.check.report import Row
from exporter.commands.check.results import AccountResult, TargetResult
from exporter.platform.errors import Forbidden, NotAvailable, PlatformError
from exporter.polling.intervals import Capacity
from exporter.targets.target import Target

ENOUGH = Capacity(10.0, 32, 0.1)
ROWS = [
    Row("main", "discovery", "account/main", "main", "ok", "found 12 DNS zones, 4 scripts, 3 shield zones, 6 rate limits"),
    Row("main", "dns_statistics", "12 targets", "", "ok", "179 series"),
    Row("main", "dns_statistics", "dns_zone/999", "old.example.net", "failed", "there is no such DNS zone: the platform answered 404"),
    Row("other", "", "account/other", "", "failed", "the key is not accepted: the platform answered 401"),
]  # fmt: skip


def plain(text: str) -> str:
    """Return the text on a terminal, without colours."""
    return "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in text.splitlines())


def verdict(*tried: TargetResult, **rest: int) -> AccountResult:
    return AccountResult("main", ENOUGH, 1.0, list(tried), untried=rest)


def statistics(zone_id: int, error: PlatformError | None = None) -> TargetResult:
    target = Target("main", "dns_zone", str(zone_id), f"zone-{zone_id}.example")
    return TargetResult("dns_statistics", target, error)


def shown(*verdicts: AccountResult) -> list[tuple[str, ...]]:
    return [row.cells()[2:] for row in report.rows(verdicts)]


def test_a_program_gets_every_row_on_one_line_without_colours() -> None:
    assert (
        render(ROWS, None)
        == dedent("""\
        ACCOUNT  COLLECTOR       TARGET         NAME             RESULT  DETAIL
        main     discovery       account/main   main             ok      found 12 DNS zones, 4 scripts, 3 shield zones, 6 rate limits
        main     dns_statistics  12 targets                      ok      179 series
        main     dns_statistics  dns_zone/999   old.example.net  failed  there is no such DNS zone: the platform answered 404
        other                    account/other                   failed  the key is not accepted: the platform answered 401""")
    )


def test_eighty_columns_break_no_collector_and_no_result() -> None:
    assert plain(render(ROWS, 80)) == dedent("""\
        account main
        COLLECTOR       TARGET           RESULT  DETAIL
        discovery       account/main     ok      found 12 DNS zones, 4 scripts, 3 shield
                                                 zones, 6 rate limits
        dns_statistics  12 targets       ok      179 series
        dns_statistics  dns_zone/999     failed  there is no such DNS zone: the platform
                        old.example.net          answered 404

        account other
        COLLECTOR  TARGET         RESULT  DETAIL
                   account/other  failed  the key is not accepted: the platform answered
                                          401""")


def test_a_wide_terminal_gets_the_whole_table_in_colours() -> None:
    lines = render(ROWS, 200).splitlines()
    assert [line.count("\x1b[32m") for line in lines] == [0, 1, 1, 0, 0]
    assert [line.count("\x1b[31m") for line in lines] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("width", range(30, 200, 7))
def test_no_line_is_wider_than_the_terminal_unless_it_is_narrower_than_words(width: int) -> None:
    assert max(len(line) for line in plain(render(ROWS, width)).splitlines()) <= max(width, 44)


def test_five_targets_that_are_well_are_listed_and_six_are_not() -> None:
    five = [statistics(number) for number in range(1, 6)]
    assert [row[0] for row in shown(verdict(*five))] == [f"dns_zone/{number}" for number in range(1, 6)]
    assert shown(verdict(*five, statistics(6))) == [("6 targets", "", "ok", "0 series")]


def test_targets_stand_in_the_order_of_their_numbers() -> None:
    tried = [statistics(number) for number in (10, 9, 100, 2)]
    assert [row[0] for row in shown(verdict(*tried))] == ["dns_zone/2", "dns_zone/9", "dns_zone/10", "dns_zone/100"]


def test_ten_targets_that_fail_alike_are_listed_and_of_eleven_five() -> None:
    def failing(count: int) -> AccountResult:
        return verdict(*(statistics(number, Forbidden("no")) for number in range(1, count + 1)))

    assert len(shown(failing(10))) == 10
    assert shown(failing(11))[4:] == [
        ("dns_zone/5", "zone-5.example", "failed", "the key or token may not read this: no"),
        ("6 targets more", "", "failed", "the same"),
    ]
    assert report.faults([failing(11)]) == 11


def test_failures_of_different_kinds_are_listed_apart() -> None:
    tried = [statistics(number, Forbidden("no" if number % 2 else "never")) for number in range(1, 13)]
    assert len(shown(verdict(*tried))) == 12


def test_a_resource_that_a_plan_has_not_got_is_no_fault() -> None:
    tried = verdict(*(statistics(number, NotAvailable("the plan has none")) for number in range(1, 7)))
    assert shown(tried) == [("6 targets", "", "not available", "the plan has none")]
    assert report.faults([tried]) == 0


def test_an_account_that_cannot_be_asked_is_one_fault_whatever_was_tried() -> None:
    closed = verdict(statistics(1, Forbidden("403")), statistics(2, Forbidden("403")), dns_statistics=1, scripts=2)
    closed.barrier = Forbidden("the platform answered 403")
    assert [row.cells() for row in report.rows([closed])] == [
        (
            "main",
            "",
            "account/main",
            "",
            "failed",
            "the key is not permitted to make any of the polls: the platform answered 403; 3 more polls were not tried",
        )
    ]
    assert report.faults([closed]) == 1
    assert list(report.loads([closed])) == []


@pytest.mark.parametrize(
    ("demand", "capacity", "line"),
    [
        (1.0, ENOUGH, "main: the targets need 1 requests/s, the budget allows 10"),
        (
            12.3,
            ENOUGH,
            (
                "main: the targets need 12.3 requests/s, the budget allows 10 (intervals would be 1.3 times as long as "
                "configured): raise requests_per_second to 13 or lengthen intervals"
            ),
        ),
        (
            8.0,
            Capacity(10.0, 2, 2.5),
            (
                "main: the targets need 8 requests/s, the budget allows 10, but with 2 in flight and answers that take "
                "2.5 s no more than 0.8 are made (intervals would be 10.5 times as long as configured): raise "
                "max_in_flight or lengthen intervals"
            ),
        ),
        (0.0123, Capacity(0.5, 2), "main: the targets need 0.012 requests/s, the budget allows 0.5"),
    ],
)
def test_the_budget_is_set_against_what_is_asked_for(demand: float, capacity: Capacity, line: str) -> None:
    assert list(report.loads([AccountResult("main", capacity, demand)])) == [line]
