"""How the command line lists, explains and completes the operations."""

import re
from pathlib import Path

import pytest

from exporter.commands.call.operations import CALLABLE, completions, listing
from tests.commands.shell import Ended, invoke
from tests.golden import assert_golden


@pytest.mark.parametrize(("form", "golden"), [("text", "operations.txt"), ("json", "operations.json")])
def test_the_list_has_all_that_is_known_of_each_operation(form: str, golden: str) -> None:
    ended = invoke("call", "--list", "-o", form)
    assert_golden(ended.out, Path(__file__).with_name(golden))
    assert (ended.err, ended.code) == ("", 0)


@pytest.mark.parametrize(
    ("width", "first"),
    [
        (80, ["OPERATION                     DOES, REQUEST, PARAMETERS",
              "dns_statistics                Query statistics of a DNS zone, by default of the",
              "                              last 30 days.",
              "                              GET /dnszone/{id}/statistics",
              "                              id [dateFrom] [dateTo]"]),
        (40, ["dns_statistics", "  Query statistics of a DNS zone, by", "  default of the last 30 days."]),
    ],
)  # fmt: skip
def test_a_narrow_terminal_gets_a_list_that_fits(width: int, first: list[str]) -> None:
    lines = listing(width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[: len(first)] == first


def test_an_operation_explains_itself() -> None:
    names = ("sql", "script_add_secret", "shield_bot_category_action")
    explained = (invoke("call", name, "--help", environ={"COLUMNS": "80"}).out for name in names)
    assert_golden("\n".join(explained), Path(__file__).with_name("explained.txt"))


@pytest.mark.parametrize("name", list(CALLABLE))
def test_help_beside_an_operation_is_the_operation_s_and_fits(name: str) -> None:
    shown = {invoke("call", *words, environ={"COLUMNS": "80"}) for words in ((name, "-h"), ("-h", name, "id=1"))}
    assert len(shown) == 1
    ended = shown.pop()
    assert ended.out.split()[:4] == ["Usage:", "edge-exporter", "call", name]
    # A command and a path are for copying, and stay whole.
    whole = re.compile(r"Usage: edge-exporter|  (GET|POST|PUT|PATCH) /")
    assert [line for line in ended.out.splitlines() if len(line) > 80 and not whole.match(line)] == []
    assert (ended.err, ended.code) == ("", 0)


def test_help_beside_what_is_no_operation_names_the_nearest() -> None:
    ended = invoke("call", "dns_statistic", "--help")
    assert ended == Ended("", "there is no operation 'dns_statistic'; did you mean 'dns_statistics'?\n", 2)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # Parameters that are not given yet.
        ("dns_statistics ", ["id=", "dateFrom=", "dateTo="]),
        ("dns_statistics id=5 da", ["dateFrom=", "dateTo="]),
        ("dns_statistics id=5 dateTo=2026-02-06 ", ["dateFrom="]),
        ("no_such_operation ", []),
        ("sql ", []),
        # Values that are known.
        ("shield_access_list_switch isEnabled=", ["isEnabled=true", "isEnabled=false"]),
        ("shield_bot_category_action action=2", ["action=2"]),
        ("shield_bot_category_action action=b", ["action=block"]),
        ("shield_bot_category_action action=0", ["action=0"]),
        ("script_add_secret Secret=", ["Secret=-"]),
        ("dns_statistics id=", []),
        ("shield_access_list_switch isEnabled", ["isEnabled="]),
        # A shell that breaks words at the equals sign.
        ("shield_access_list_switch isEnabled = f", ["false"]),
        ("shield_access_list_switch isEnabled ", ["true", "false"]),
        ("dns_statistics id = 5 d", ["dateFrom=", "dateTo="]),
    ],
)
def test_what_is_completed(line: str, expected: list[str]) -> None:
    name, *words, incomplete = line.split(" ")
    assert [text for text, _ in completions(name, words, incomplete)] == expected


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("call dns_r", "dns_record_scan\nThe latest record scan of a DNS zone."),
        ("call dns_statistics dateFrom=2026-02-06 date", "dateTo=\nLast moment of the window."),
        ("call shield_access_list_switch isEnabled=t", "isEnabled=true\n_"),
    ],
)
def test_a_shell_is_offered_operations_and_arguments_with_their_meanings(typed: str, offered: str) -> None:
    asked = {"COMP_WORDS": f"edge-exporter {typed}", "COMP_CWORD": str(typed.count(" ") + 1)}
    ended = invoke(environ={"_EDGE_EXPORTER_COMPLETE": "zsh_complete", **asked})
    assert ended == Ended(f"plain\n{offered}\n", "", 0)
