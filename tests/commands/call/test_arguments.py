"""Parameters as users write them: the request that a dry run shows, and the messages for wrong ones."""

import io
import json
import shlex
from pathlib import Path

import pytest

from exporter.commands.call.arguments import Sources
from tests.commands.shell import Ended, invoke

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


def call(line: str, stdin: str = "") -> Ended:
    """Return the result of a dry run."""
    return invoke("call", *shlex.split(line), "--dry-run", environ=ENVIRON, stdin=stdin)


CLOSE = {"requests": [{"type": "close"}]}
BLOCKED = ("/shield/shield-zone/3/bot-categorization/categories/2", {"action": 1})


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("shield_access_list_switch shieldZoneId=3 id=9 isEnabled=false",
         ("/shield/shield-zone/3/access-lists/configurations/9", {"isEnabled": False})),
        ("shield_access_list_switch shieldZoneId=3 id=9 isEnabled=true",
         ("/shield/shield-zone/3/access-lists/configurations/9", {"isEnabled": True})),
        (f"{ACTION} category=2 action=1", BLOCKED),
        (f"{ACTION} category=ai_scraper action=block", BLOCKED),
        (f"{ACTION} category=AI-Scraper action=Block", BLOCKED),
        # A parameter that is not given is not sent.
        ("script_update id=7", ("/compute/script/7", {})),
        ("search", ("/search", None)),
        # Text is sent as it stands.
        ("search search=@x", ("/search?search=%40x", None)),
        ("container_tags registryId=dockerhub imageName=a=b= imageNamespace=",
         ("/mc/registries/tags", {"registryId": "dockerhub", "imageName": "a=b=", "imageNamespace": ""})),
        ("""database_pipeline 'requests=[{"type":"close"}]'""", ("/v2/pipeline", CLOSE)),
        ("database_pipeline requests=-", ("/v2/pipeline", CLOSE)),
        # A time is sent in UTC.
        *(
            (f"dns_statistics id=1 'dateFrom={text}'", (f"/dnszone/1/statistics?dateFrom={sent}", None))
            for text, sent in (
                ("2026-02-01", "2026-02-01"),
                ("2026-02-06T12:00", "2026-02-06T12:00:00Z"),
                ("2026-02-06 12:00:00", "2026-02-06T12:00:00Z"),
                ("2026-02-06T12:00:00.5Z", "2026-02-06T12:00:00.500000Z"),
                ("2026-02-06T12:00:00-0330", "2026-02-06T15:30:00Z"),
                ("2026-02-06T12:00:00+02:00", "2026-02-06T10:00:00Z"),
            )
        ),
    ],
)  # fmt: skip
def test_parameters_go_to_their_places(line: str, sent: tuple[str, object]) -> None:
    ended = call(line, '[{"type":"close"}]\n')
    request = json.loads(ended.out)
    assert (request["url"], request["body"]) == ("http://p" + sent[0], sent[1])
    assert (ended.err, ended.code) == ("", 0)


def of(line: str, fault: str, *texts: str) -> list[tuple[str, str]]:
    """Return a row for each of these texts, where `{}` stands in a call and in its fault."""
    return [(line.format(shlex.quote(text)), fault.format(text)) for text in texts]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dns_statistics zone=1 datefrom=2026-02-01 dateTo=yesterday word dateTo=2026-02-01",
         ("dns_statistics has no parameter 'zone'; it has id, dateFrom, dateTo\n"
          "dns_statistics has no parameter 'datefrom'; did you mean 'dateFrom'?\n"
          "found 'word', expected NAME=VALUE\n"
          "dateTo: given twice\n"
          f"id: missing; expected {WHOLE}: DNS zone id (int64).\n"
          f"dateTo: found 'yesterday', expected {TIME}")),
        ("shield_waf_plan_segmentation a=1", "shield_waf_plan_segmentation has no parameter 'a'; it has none"),
        *of(
            SECRET + " Secret={}",
            "Secret: a secret is taken from standard input (-) or a file (@FILE), never from an argument",
            "hunter2", "", "@",
        ),
        # A stray word beside a secret may be the secret, and is not repeated.
        (f"{SECRET} Secret=@FULL hunter2", "found an argument without '=', expected NAME=VALUE"),
        (f"{SECRET} Secret=-", "Secret: is empty"),
        (f"{SECRET} Secret=@/nowhere/f", "Secret: /nowhere/f does not exist"),
        (f"{SECRET} Secret=@BINARY", "Secret: BINARY is not UTF-8 text"),
        *of(
            "dns_statistics id={}", "id: found '{}', expected " + WHOLE,
            "", "a", "1.0", "28.0", "1e3", "0x10", " 1", "1 ", "٣", "9223372036854775808", "1_000",
        ),
        (f"dns_statistics id={'x' * 60}", f"id: found '{'x' * 60}', expected {WHOLE}"),
        (f"dns_statistics id={'x' * 500}", f"id: found '{'x' * 60}…', expected {WHOLE}"),
        *of(
            f"{ACTION} action=1 category={{}}", f"category: found '{{}}', expected one of {CATEGORIES}",
            "-1", "8", "255", "two",
        ),
        *of(
            "shield_access_list_switch shieldZoneId=3 id=1 isEnabled={}",
            "isEnabled: found '{}', expected true or false",
            "True", "yes", "1", "",
        ),
        *of(
            "dns_statistics id=1 dateTo={}", f"dateTo: found '{{}}', expected {TIME}",
            "2026", "20260206", "2026-W06-5", "2026-02-30", "0001-01-01T00:00:00+05:00", "12:00",
        ),
        ("database_pipeline requests={a:1", "requests: is not JSON (line 1, column 2); expected a JSON array"),
        ("database_pipeline requests=3", "requests: found '3', expected a JSON array"),
        ("database_pipeline requests=[1,", "requests: is not JSON (line 1, column 4); expected a JSON array"),
        (f"database_pipeline requests={'[' * 100_000}", "requests: is not JSON; expected a JSON array"),
        ("database_pipeline requests=@/nowhere/f", "requests: /nowhere/f does not exist"),
        ("search search=\udcff", "search: is not UTF-8 text"),
    ],
)  # fmt: skip
def test_every_fault_is_named_with_what_was_found_and_what_was_expected(
    line: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FULL").write_text("s")
    Path("BINARY").write_bytes(b"\xff")
    assert call(line) == Ended("", f"{expected}\n", 2)


def test_a_statement_is_typed_on_a_terminal_up_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"SELECT 1\n"))
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", typed)
    assert Sources().read("-") == "SELECT 1"
