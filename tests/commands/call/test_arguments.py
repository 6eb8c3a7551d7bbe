"""Parameters as users write them: the sent values, and the messages for wrong ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.commands.call.arguments import Arguments, ArgumentsError, SourceError, expectation, parse
from exporter.platform.api import containers, database, dns, scripting, search, shield
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.operation import Operation


def read(text: str, *, secret: bool) -> str:
    """Replaces files and standard input: `@FILE` gives a different word for each file."""
    if text == "@missing":
        raise SourceError("missing does not exist")
    return {"-": "from stdin", "@empty": "", "@rows": '[{"type":"close"}]'}.get(text, f"{secret}:{text}")


def faults(operation: Operation[Any], *words: str) -> list[str]:
    with pytest.raises(ArgumentsError) as caught:
        parse(operation, words, read)
    return str(caught.value).splitlines()


def test_parameters_go_to_their_places() -> None:
    found = parse(dns.STATISTICS, ["id=101", "dateFrom=2026-02-01", "dateTo=2026-02-06T12:00:00+02:00"], read)
    assert found == Arguments({"id": 101}, {"dateFrom": "2026-02-01", "dateTo": "2026-02-06T10:00:00Z"})
    found = parse(shield.SET_BOT_ACTION, ["shieldZoneId=3", "category=7", "action=0"], read)
    assert found == Arguments({"shieldZoneId": 3, "category": 7}, {}, {"action": 0})
    found = parse(shield.SWITCH_ACCESS_LIST, ["shieldZoneId=3", "id=9", "isEnabled=false"], read)
    assert found == Arguments({"shieldZoneId": 3, "id": 9}, {}, {"isEnabled": False})


def test_an_optional_parameter_that_is_not_given_is_not_sent() -> None:
    assert parse(scripting.UPDATE, ["id=7"], read) == Arguments({"id": 7}, {}, {})
    assert parse(search.SEARCH, [], read) == Arguments()


def test_text_is_taken_as_it_stands_with_whatever_equals_signs_it_holds() -> None:
    words = ["registryId=dockerhub", "imageName=a=b=", "imageNamespace="]
    assert parse(containers.TAGS, words, read).body == {
        "registryId": "dockerhub",
        "imageName": "a=b=",
        "imageNamespace": "",
    }
    assert parse(search.SEARCH, ["search=@x"], read).query == {"search": "@x"}


def test_a_secret_comes_from_standard_input_or_a_file() -> None:
    found = parse(scripting.ADD_SECRET, ["id=7", "Name=TOKEN", "Secret=-"], read)
    assert found == Arguments({"id": 7}, {}, {"Name": "TOKEN", "Secret": "from stdin"}, ("from stdin",))
    found = parse(scripting.ADD_SECRET, ["id=7", "Name=TOKEN", "Secret=@file"], read)
    assert found.secrets == ("True:@file",)


@pytest.mark.parametrize("word", ["Secret=hunter2", "Secret=", "Secret=@"])
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(word: str) -> None:
    assert faults(scripting.ADD_SECRET, "id=7", "Name=T", word) == [
        "Secret: a secret is taken from standard input (-) or a file (@FILE), never from an argument"
    ]


def test_a_stray_word_beside_a_secret_is_not_repeated_for_it_may_be_the_secret() -> None:
    assert faults(scripting.ADD_SECRET, "id=7", "Name=T", "Secret=-", "hunter2") == [
        "found an argument without '=', expected NAME=VALUE"
    ]


def test_an_empty_secret_and_a_missing_file_are_faults() -> None:
    assert faults(scripting.ADD_SECRET, "id=7", "Name=T", "Secret=@empty") == ["Secret: is empty"]
    assert faults(scripting.ADD_SECRET, "id=7", "Name=T", "Secret=@missing") == ["Secret: missing does not exist"]


def test_every_fault_is_told_with_the_parameter_what_was_found_and_what_was_expected() -> None:
    assert faults(dns.STATISTICS, "zone=1", "datefrom=2026-02-01", "dateTo=yesterday", "word", "dateTo=2026-02-01") == [
        "dns_statistics has no parameter 'zone'; it has id, dateFrom, dateTo",
        "dns_statistics has no parameter 'datefrom'; did you mean 'dateFrom'?",
        "found 'word', expected NAME=VALUE",
        "dateTo: given twice",
        "id: missing; expected a whole number of 64 bits: DNS zone id (int64).",
        "dateTo: found 'yesterday', expected a date or a time such as 2026-02-06 or 2026-02-06T12:00:00Z",
    ]
    assert faults(shield.PLAN_SEGMENTATION, "a=1") == ["shield_waf_plan_segmentation has no parameter 'a'; it has none"]


@pytest.mark.parametrize(
    "text", ["", "a", "1.0", "28.0", "1e3", "0x10", " 1", "1 ", "٣", "9223372036854775808", "1_000"]
)
def test_what_is_no_whole_number_of_64_bits_is_refused(text: str) -> None:
    assert faults(dns.STATISTICS, f"id={text}") == [f"id: found {text!r}, expected a whole number of 64 bits"]


CATEGORIES = "none (0), seo (1), ai_scraper (2), ai_tool (3), tool (4), ads (5), preview (6), social (7)"


@pytest.mark.parametrize("text", ["-1", "8", "255", "two"])
def test_a_category_that_the_path_does_not_accept_is_refused(text: str) -> None:
    assert faults(shield.SET_BOT_ACTION, "shieldZoneId=3", f"category={text}", "action=1") == [
        f"category: found '{text}', expected one of {CATEGORIES}"
    ]


@pytest.mark.parametrize(("category", "action"), [("2", "1"), ("ai_scraper", "block"), ("AI-Scraper", "Block")])
def test_a_value_of_an_enumeration_is_a_name_or_a_number(category: str, action: str) -> None:
    words = ("shieldZoneId=3", f"category={category}", f"action={action}")
    parsed = parse(shield.SET_BOT_ACTION, words, read)
    assert parsed.path == {"shieldZoneId": 3, "category": 2}
    assert parsed.body == {"action": 1}


@pytest.mark.parametrize("text", ["True", "yes", "1", ""])
def test_what_is_neither_true_nor_false_is_refused(text: str) -> None:
    assert faults(shield.SWITCH_ACCESS_LIST, "shieldZoneId=3", "id=1", f"isEnabled={text}") == [
        f"isEnabled: found {text!r}, expected true or false"
    ]


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("2026-02-06", "2026-02-06"),
        ("2026-02-06T12:00", "2026-02-06T12:00:00Z"),
        ("2026-02-06 12:00:00", "2026-02-06T12:00:00Z"),
        ("2026-02-06T12:00:00.5Z", "2026-02-06T12:00:00.500000Z"),
        ("2026-02-06T12:00:00-0330", "2026-02-06T15:30:00Z"),
    ],
)
def test_a_time_is_sent_in_utc(text: str, sent: str) -> None:
    assert parse(dns.STATISTICS, ["id=1", f"dateFrom={text}"], read).query == {"dateFrom": sent}


@pytest.mark.parametrize("text", ["2026", "20260206", "2026-W06-5", "2026-02-30", "0001-01-01T00:00:00+05:00", "12:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    assert faults(dns.STATISTICS, "id=1", f"dateTo={text}") == [
        f"dateTo: found '{text}', expected a date or a time such as 2026-02-06 or 2026-02-06T12:00:00Z"
    ]


def test_json_stands_in_the_argument_or_comes_from_where_it_says() -> None:
    for word in ('requests=[{"type":"close"}]', "requests=@rows"):
        assert parse(database.PIPELINE, [word], read).body == {"requests": [{"type": "close"}]}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a":1}', "requests: found '{\"a\":1}', expected a JSON array"),
        ("[1,", "requests: is not JSON (line 1, column 4); expected a JSON array"),
        ("[" * 100_000, "requests: is not JSON; expected a JSON array"),
        ("@missing", "requests: missing does not exist"),
    ],
)
def test_what_is_no_array_is_refused(text: str, fault: str) -> None:
    assert faults(database.PIPELINE, f"requests={text}") == [fault]


def test_text_that_cannot_be_sent_is_refused() -> None:
    assert faults(search.SEARCH, "search=\udcff") == ["search: is not UTF-8 text"]


def test_a_long_value_is_shown_in_part() -> None:
    assert faults(dns.STATISTICS, "id=" + "x" * 500) == [f"id: found '{'x' * 60}…', expected a whole number of 64 bits"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_says_of_each_required_parameter_that_it_is_missing(operation: Operation[Any]) -> None:
    required = [parameter for parameter in operation.parameters if parameter.required]
    if not required:
        assert parse(operation, [], read).path == {}
        return
    assert faults(operation) == [
        f"{parameter.name}: missing; expected {expectation(parameter)}: {parameter.help}" for parameter in required
    ]


@given(st.sampled_from(OPERATIONS), st.lists(st.text(max_size=30)), st.lists(st.text(max_size=20)))
def test_no_arguments_end_in_anything_but_arguments_or_faults(
    operation: Operation[Any], values: list[str], strays: list[str]
) -> None:
    words = [f"{one.name}={value}" for one, value in zip(operation.parameters, values, strict=False)]
    try:
        found = parse(operation, [*words, *strays], read)
    except ArgumentsError as error:
        assert str(error)  # noqa: PT017 - either is right
    else:
        json.dumps([dict(found.path), dict(found.query), found.body])
