"""Parameters as users write them: the request that a dry run shows, and the messages for wrong ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.commands.call.arguments import Sources, expectation, parse
from exporter.commands.output.printing import MisuseError
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.operation import Operation
from tests.commands.shell import invoke

ENVIRON = {
    "EDGE_EXPORTER_BASE_URL": "http://p",
    "EDGE_EXPORTER_API_KEY": "k",
    "PLATFORM_DATABASE_URL": "http://p",
    "PLATFORM_DATABASE_AUTH_TOKEN": "k",
}
WHOLE = "a whole number of 64 bits"
TIME = "a date or a time such as 2026-02-06 or 2026-02-06T12:00:00Z"
ACTION = "shield_bot_category_action shieldZoneId=3"
CATEGORIES = "none (0), seo (1), ai_scraper (2), ai_tool (3), tool (4), ads (5), preview (6), social (7)"
SECRET = "script_add_secret id=7 Name=T"


def faults(line: str, *words: str) -> list[str]:
    """Return the lines that refuse a call."""
    ended = invoke("call", *line.split(), *words, "--dry-run", environ=ENVIRON, stdin="")
    assert (ended.out, ended.code) == ("", 2)
    return ended.err.splitlines()


@pytest.mark.parametrize(
    ("line", "words", "url", "body"),
    [
        (
            "dns_statistics id=101 dateFrom=2026-02-01 dateTo=2026-02-06T12:00:00+02:00",
            [],
            "/dnszone/101/statistics?dateFrom=2026-02-01&dateTo=2026-02-06T10:00:00Z",
            None,
        ),
        (
            "shield_access_list_switch shieldZoneId=3 id=9 isEnabled=false",
            [],
            "/shield/shield-zone/3/access-lists/configurations/9",
            {"isEnabled": False},
        ),
        *(
            (
                f"{ACTION} category={category} action={action}",
                [],
                "/shield/shield-zone/3/bot-categorization/categories/2",
                {"action": 1},
            )
            for category, action in (("2", "1"), ("ai_scraper", "block"), ("AI-Scraper", "Block"))
        ),
        # A parameter that is not given is not sent.
        ("script_update id=7", [], "/compute/script/7", {}),
        ("search", [], "/search", None),
        # Text is sent as it stands.
        ("search", ["search=@x"], "/search?search=%40x", None),
        (
            "container_tags registryId=dockerhub",
            ["imageName=a=b=", "imageNamespace="],
            None,
            {"registryId": "dockerhub", "imageName": "a=b=", "imageNamespace": ""},
        ),
        ("database_pipeline", ['requests=[{"type":"close"}]'], "/v2/pipeline", {"requests": [{"type": "close"}]}),
        ("database_pipeline", ["requests=-"], "/v2/pipeline", {"requests": [{"type": "close"}]}),
        # A time is sent in UTC.
        *(
            ("dns_statistics id=1", [f"dateFrom={text}"], f"/dnszone/1/statistics?dateFrom={sent}", None)
            for text, sent in (
                ("2026-02-06T12:00", "2026-02-06T12:00:00Z"),
                ("2026-02-06 12:00:00", "2026-02-06T12:00:00Z"),
                ("2026-02-06T12:00:00.5Z", "2026-02-06T12:00:00.500000Z"),
                ("2026-02-06T12:00:00-0330", "2026-02-06T15:30:00Z"),
            )
        ),
    ],
)
def test_parameters_go_to_their_places(line: str, words: list[str], url: str | None, body: object) -> None:
    ended = invoke("call", *line.split(), *words, "--dry-run", environ=ENVIRON, stdin='[{"type":"close"}]\n')
    request = json.loads(ended.out)
    assert (request["url"], request["body"]) == ("http://p" + url if url else request["url"], body)
    assert (ended.err, ended.code) == ("", 0)


@pytest.mark.parametrize(
    ("line", "words", "expected"),
    [
        (
            "dns_statistics zone=1 datefrom=2026-02-01 dateTo=yesterday word dateTo=2026-02-01",
            [],
            [
                "dns_statistics has no parameter 'zone'; it has id, dateFrom, dateTo",
                "dns_statistics has no parameter 'datefrom'; did you mean 'dateFrom'?",
                "found 'word', expected NAME=VALUE",
                "dateTo: given twice",
                f"id: missing; expected {WHOLE}: DNS zone id (int64).",
                f"dateTo: found 'yesterday', expected {TIME}",
            ],
        ),
        (
            "shield_waf_plan_segmentation a=1",
            [],
            ["shield_waf_plan_segmentation has no parameter 'a'; it has none"],
        ),
        *(
            (
                SECRET,
                [word],
                ["Secret: a secret is taken from standard input (-) or a file (@FILE), never from an argument"],
            )
            for word in ("Secret=hunter2", "Secret=", "Secret=@")
        ),
        # A stray word beside a secret may be the secret, and is not repeated.
        (SECRET, ["Secret=@FULL", "hunter2"], ["found an argument without '=', expected NAME=VALUE"]),
        (SECRET, ["Secret=-"], ["Secret: is empty"]),
        (SECRET, ["Secret=@/nowhere/f"], ["Secret: /nowhere/f does not exist"]),
        (SECRET, ["Secret=@BINARY"], ["Secret: BINARY is not UTF-8 text"]),
        *(
            ("dns_statistics", [f"id={text}"], [f"id: found {text!r}, expected {WHOLE}"])
            for text in ("", "a", "1.0", "28.0", "1e3", "0x10", " 1", "1 ", "٣", "9223372036854775808", "1_000")
        ),
        ("dns_statistics", ["id=" + "x" * 500], [f"id: found '{'x' * 60}…', expected {WHOLE}"]),
        *(
            (ACTION, ["action=1", f"category={text}"], [f"category: found '{text}', expected one of {CATEGORIES}"])
            for text in ("-1", "8", "255", "two")
        ),
        *(
            (
                "shield_access_list_switch shieldZoneId=3 id=1",
                [f"isEnabled={text}"],
                [f"isEnabled: found {text!r}, expected true or false"],
            )
            for text in ("True", "yes", "1", "")
        ),
        *(
            ("dns_statistics id=1", [f"dateTo={text}"], [f"dateTo: found '{text}', expected {TIME}"])
            for text in ("2026", "20260206", "2026-W06-5", "2026-02-30", "0001-01-01T00:00:00+05:00", "12:00")
        ),
        *(
            ("database_pipeline", [f"requests={text}"], [f"requests: {fault}"])
            for text, fault in (
                ('{"a":1}', "found '{\"a\":1}', expected a JSON array"),
                ("[1,", "is not JSON (line 1, column 4); expected a JSON array"),
                ("[" * 100_000, "is not JSON; expected a JSON array"),
                ("@/nowhere/f", "/nowhere/f does not exist"),
            )
        ),
        ("search", ["search=\udcff"], ["search: is not UTF-8 text"]),
    ],
)
def test_every_fault_is_named_with_what_was_found_and_what_was_expected(
    line: str, words: list[str], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FULL").write_text("s")
    Path("BINARY").write_bytes(b"\xff")
    assert faults(line, *words) == expected


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_names_each_required_parameter_that_is_missing(operation: Operation[Any]) -> None:
    required = [parameter for parameter in operation.parameters if parameter.required]
    if operation.name != "script_read_by_update" and required:
        assert faults(operation.name) == [
            f"{one.name}: missing; expected {expectation(one)}: {one.help}" for one in required
        ]


class Unread(Sources):
    """Gives a text for every file and for standard input."""

    def read(self, word: str, *, secret: bool = False) -> str:
        """Return a text that depends on the word."""
        return f"{secret}:{word}"


@given(st.sampled_from(OPERATIONS), st.lists(st.text(max_size=30)), st.lists(st.text(max_size=20)))
def test_no_arguments_end_in_anything_but_a_request_or_faults(
    operation: Operation[Any], values: list[str], strays: list[str]
) -> None:
    words = [f"{one.name}={value}" for one, value in zip(operation.parameters, values, strict=False)]
    try:
        request, _ = parse(operation, [*words, *strays], Unread())
    except MisuseError as error:
        assert str(error)  # noqa: PT017 - either is right
    else:
        json.dumps([request.path, request.query, request.body])
