"""`call` against the sandbox: the request, the printed answer, and the exit code for scripts."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from exporter.sandbox import keys
from tests.commands.conftest import Configure, UnusedAddress
from tests.commands.platform import Platform
from tests.commands.shell import Ended, invoke
from tests.commands.terminal import type_in
from tests.ports import free_port

ADD_SECRET = "script_add_secret --id=7 --Name=TOKEN --Secret=-"
WRONG_FIELDS = {
    "title": "Unprocessable Entity",
    "status": 422,
    "errors": [
        {"field": "imageName", "message": "is required"}, {"field": "registryId", "message": "is unknown"},
    ],
    "id": "1",
}  # fmt: skip
ERROR = "Error: "
FROM_FILE = "is no readable file; a secret is taken from a file, or - for standard input"


def call(line: str, environ: dict[str, str], stdin: str = "") -> Ended:
    """Run a call from its words as a shell splits them."""
    return invoke("call", *shlex.split(line), environ=environ, stdin=stdin)


def refused(status: int, body: object) -> dict[str, Any]:
    return {"kind": "status", "status": status, "body": json.dumps(body)}


def answered(body: str) -> dict[str, Any]:
    return {"kind": "status", "status": 200, "content_type": "application/json", "body": body}


@pytest.mark.parametrize(
    ("line", "fault", "code", "text"),
    [
        # For a program, an answer is one line of JSON.
        ("container_tags --registryId=dockerhub --imageNamespace=library --imageName=nginx", None, 0,
         '[{"name":"latest"},{"name":"stable"},{"name":"1.29.1"},{"name":"1.28.0"},{"name":"alpine"}]\n'),
        ("shield_bot_category_action --shieldZoneId=1 --category=ai_scraper --action=block --yes", None, 0,
         '{"data":{"category":2,"action":1},"error":null}\n'),
        ("script --id=7 --account main", answered('{"Id": 1}'), 0, '{"Id":1}\n'),
        # No secret, whether the platform's or the caller's, is shown, and nothing controls the terminal.
        *(
            ("script --id=7", answered(f'{{"Id": 7, {answer}}}'), 0, f'{{"Id":7,{shown}}}\n')
            for answer, shown in (
                ('"DeploymentKey": "d", "Name": "ü"', '"DeploymentKey":"***","Name":"ü"'),
                ('"Any": [{"Secret": ["s", null, 2]}, {"DefaultValue": ""}]',
                 '"Any":[{"Secret":["***",null,2]},{"DefaultValue":""}]'),
                (r'"Any": ["sandbox-api-key", "sandbox\u002dapi\u002dkey", 1.5]', '"Any":["***","***",1.5]'),
                (r'"Any": ["\u001b[2J", "\u009b31m", "\u202e", "\ud800"]',
                 r'"Any":["\u001b[2J","\u009b31m","\u202e","\ud800"]'),
            )
        ),
        (f"{ADD_SECRET} --yes", answered('{"Id": 1, "Name": "hunter2"}'), 0, '{"Id":1,"Name":"***"}\n'),
        (f"{ADD_SECRET} --yes", refused(400, {"Message": "hunter2 is weak, said sandbox-api-key", "Field": "Secret"}),
         1, "the platform answered 400: *** is weak, said ***\n"),
        # What the platform refuses goes to standard error.
        ("container_tags --registryId=x --imageNamespace=y --imageName=z", refused(422, WRONG_FIELDS), 1,
         "the platform answered 422: Unprocessable Entity. imageName: is required. registryId: is unknown\n"),
        ("search", {"kind": "status", "status": 200, "content_type": "text/html", "body": "<html>"}, 1,
         "the platform answered 200 with a body that is HTML\n"),
        *(
            ("search", {"kind": "status", "status": status, "retry_after": 3600}, code,
             f"the platform answered {status}\n")
            for status, code in ((401, 4), (403, 4), (404, 5), (408, 1), (429, 6), (400, 1), (500, 1))
        ),
        ("dns_statistics --id=999", None, 5, "the platform answered 404: The requested DNS zone was not found.\n"),
        ("dns_record_scan --zoneId=104", None, 5,
         "the platform answered 404: it has none, or there is no such id\n"),
        ("shield_zone_rate_limits --shieldZoneId=99", None, 5,
         "the platform answered 202 with a failure: The shield zone was not found, or is not yours.\n"),
        ("shield_zones", answered('{"data": null, "error": {"success": false, "statusCode": 404, "message": "No"}}'), 5,
         "the platform answered 200 with a failure: No\n"),
        ("search", refused(400, {"ErrorKey": "a.b", "Message": "It is a.b"}), 1,
         "the platform answered 400: It is a.b\n"),
        ("shield_bot_detection --shieldZoneId=2", None, 1,
         "the platform answered 202 with a failure: The plan has no bot detection.\n"),
    ],
)  # fmt: skip
def test_what_a_call_prints_and_how_it_ends(
    platform: Platform, environ: dict[str, str], *, line: str, fault: dict[str, Any] | None, code: int, text: str
) -> None:
    if fault is not None:
        platform.fail(**fault)
    assert call(line, environ, "hunter2") == (Ended("", text, code) if code else Ended(text, "", 0))


@pytest.mark.parametrize(
    ("line", "err"),
    [
        ("script_update --id=7 --Name=gone",
         ("script_update on main changes something on the platform: Updates a script's settings and returns the "
         'script.\n  POST {url}/compute/script/7\n  {"Name":"gone"}\n'
         "Nothing was sent: --yes sends it.\n")),
        ("serch", f"{ERROR}No such command 'serch'. Did you mean 'search'?\n"),
        ("script_read_by_update", f"{ERROR}No such command 'script_read_by_update'. Did you mean "),
        ("sql", f"{ERROR}Missing argument 'STATEMENT...'.\n"),
        *((f"script_add_secret --id=7 --Name=T --Secret={value}", f"{ERROR}Invalid value for '--Secret': {said}\n")
          for value, said in (("hunter2", FROM_FILE), ("''", FROM_FILE), ("-", "is empty"), ("BINARY", FROM_FILE))),
        ("dns_statistics", f"{ERROR}Missing option '--id'.\n"),
        *((f"dns_statistics --id={value}", f"{ERROR}Invalid value for '--id': ")
          for value in ("''", "a", "1.0", "0x10", "9" * 5000)),
        *((f"dns_statistics --id=1 --dateTo={value}", f"{ERROR}Invalid value for '--dateTo': ")
          for value in ("''", "2026", "2026-02-30", "12:00", "2026-02-06T12:00:00")),
        ("dns_statistics --id=1 --datefrom=2026-02-01", f"{ERROR}No such option '--datefrom"),
        ("shield_bot_category_action --shieldZoneId=3 --action=two --category=seo",
         f"{ERROR}Invalid value for '--action': 'two' is not one of 'none', 'block', 'allow'.\n"),
        *((f"database_pipeline --requests={value}", f"{ERROR}Invalid value for '--requests': expected a JSON array\n")
          for value in ("{a:1", "3", "[" * 100_000)),
        ("search --search=\udcff", "'utf-8' codec can't encode character"),
        ("search --account x", "the configuration has main; --account selects one account of it\n"),
        ("sql 'SELECT 1' --database x", "the configuration has default; --database selects one database of it\n"),
        ("search --database x", f"{ERROR}No such option '--database'."),
        ("sql 'SELECT 1' --account x", f"{ERROR}No such option '--account'."),
        ("search --base-url platform", "--base-url: is not a URL with https:// or http:// and without a user"),
    ],
)  # fmt: skip
def test_misuse_is_named_and_nothing_is_sent(
    platform: Platform, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, line: str, err: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("BINARY").write_bytes(b"\xff")
    ended, err = call(line, environ), err.replace("{url}", platform.url)
    said = ended.err[ended.err.find(ERROR) :] if err.startswith(ERROR) else ended.err
    assert (ended.out, said[: len(err)], ended.code) == ("", err, 2)
    assert (platform.requests, "hunter2" in ended.err) == ([], False)


@pytest.mark.parametrize(
    ("line", "request_line", "body"),
    [
        ("shield_access_list_switch --shieldZoneId=3 --id=9 --isEnabled=false",
         "PATCH /shield/shield-zone/3/access-lists/configurations/9", {"isEnabled": False}),
        ("shield_bot_category_action --shieldZoneId=3 --category=AI_Scraper --action block",
         "PUT /shield/shield-zone/3/bot-categorization/categories/2", {"action": 1}),
        # A parameter that is not given is not sent, and text is sent as it stands.
        ("script_update --id=7", "POST /compute/script/7", {}),
        ("database_pipeline --requests=[1]", "POST /v2/pipeline", {"requests": [1]}),
        *((f"dns_statistics --id=101 '--dateFrom={text}'", f"GET /dnszone/101/statistics?dateFrom={sent}", None)
          for text, sent in (("2026-02-01", "2026-02-01T00:00:00Z"), ("2026-02-06T12:00:00Z", "2026-02-06T12:00:00Z"),
                             ("2026-02-06T12:00:00-0330", "2026-02-06T15:30:00Z"))),
        ("search '--search=@x a&c' --size=3", "GET /search?search=%40x+a%26c&size=3", None),
    ],
)  # fmt: skip
def test_parameters_go_to_their_places(
    platform: Platform, environ: dict[str, str], line: str, request_line: str, body: object
) -> None:
    call(f"{line} --yes", environ)
    method, path, sent = platform.noted[-1]
    assert (f"{method} {path}", json.loads(sent or "null")) == (request_line, body)


def test_a_person_gets_json_over_several_lines(environ: dict[str, str]) -> None:
    assert type_in("call search --search=router", environ).seen.startswith('{\n  "Query": "router",\n')


def test_a_secret_comes_from_standard_input_or_a_file_without_its_last_line_break(
    platform: Platform, environ: dict[str, str], tmp_path: Path
) -> None:
    first = call(f"{ADD_SECRET} --yes", environ, "hunter2 with blanks \n")
    assert (json.loads(first.out)["Name"], first.err, first.code) == ("TOKEN", "", 0)
    assert platform.last_body == {"Name": "TOKEN", "Secret": "hunter2 with blanks "}
    taken = "There is a secret of this name."
    assert call(f"{ADD_SECRET} --yes", environ, "hunter2").err == f"the platform answered 400: {taken}\n"
    (tmp_path / "token").write_bytes("zwei\nZeilen ü\r\n".encode())
    assert call(f"script_add_secret --id=7 --Name=T --Secret={tmp_path}/token -y", environ).code == 0
    assert platform.last_body == {"Name": "T", "Secret": "zwei\nZeilen ü"}


def test_sql_gives_columns_and_rows_and_each_statement_its_own_error(
    platform: Platform, environ: dict[str, str]
) -> None:
    cells = "SELECT 9007199254740993 AS a, 1.5 AS b, x'00ff' AS c, '' AS d"
    ended = invoke("call", "sql", "SELECT 1 AS one, 'x' AS two", cells, "SELECT nope", "SELECT NULL", environ=environ)
    first, second, third, fourth = json.loads(ended.out)
    assert first == {"columns": ["one", "two"], "rows": [[1, "x"]]}
    assert second["rows"] == [[9007199254740993, 1.5, {"base64": "AP8="}, ""]]
    assert third["error"]["message"] == "SQL input error: no such column: nope"
    assert fourth == {"columns": ["NULL"], "rows": [[None]]}
    assert ended.err == f"statement 3: SQL input error: no such column: nope ({third['error']['code']})\n"
    assert (ended.code, platform.requests) == (1, [("POST", "/v2/pipeline")])


@pytest.mark.parametrize(
    ("operation", "word", "is_reading"),
    [
        ("sql", " values (1);", True),
        ("sql", "WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("sql", "/* x */ select 1", True),
        ("sql", "SELECT 1; DROP TABLE a", False),
        ("sql", "PRAGMA user_version = 2", False),
        ("sql", "WITH a AS (SELECT 1) DELETE FROM b", False),
        ("database_pipeline", '{"type":"execute","stmt":{"sql":"SELECT 1"}}', False),
    ],
)
def test_what_does_not_surely_read_may_write(
    platform: Platform, environ: dict[str, str], *, operation: str, word: str, is_reading: bool
) -> None:
    ended = invoke("call", operation, word if operation == "sql" else f"--requests=[{word}]", environ=environ)
    assert (bool(platform.requests), "changes something" in ended.err) == (is_reading, not is_reading)


def test_a_statement_that_may_write_is_never_sent_twice(platform: Platform, environ: dict[str, str]) -> None:
    assert call("sql 'DELETE FROM orders' --yes", environ).code == 0
    assert json.loads(call("sql 'SELECT count(*) FROM orders'", environ).out)[0]["rows"] == [[0]]
    platform.noted.clear()
    platform.fail(kind="reset", point="headers")
    assert call("sql 'DELETE FROM orders' --yes", environ).code == 3
    assert platform.requests == [("POST", "/v2/pipeline")]
    call("sql 'SELECT 1'", environ)
    assert len(platform.requests) == 4  # a read is tried three times


@pytest.mark.parametrize(
    ("line", "changed", "code", "begins"),
    [
        ("search", {"BASE_URL": "http://127.0.0.1:{port}"}, 3, "nothing accepts connections there (127"),
        ("search", {"BASE_URL": "http://no.invalid"}, 3, "the host name does not resolve (no.invalid"),
        ("search", {"API_KEY": "wrong"}, 4, "the platform answered 401\n"),
        ("sql 'DELETE FROM orders' --yes", {"AUTH_TOKEN": keys.DATABASE_TOKEN_READ_ONLY}, 4,
         "the platform answered 403: Authorization forbidden: "),
        ("search", {"BASE_URL": "", "API_KEY": ""}, 2,
         "the configuration has no account\n"),
        ("sql 'SELECT 1'", {"DATABASE_URL": "", "AUTH_TOKEN": ""}, 2,
         "the configuration has no database\n"),
    ],
)  # fmt: skip
def test_where_and_with_what_a_call_goes_decides_its_end(
    environ: dict[str, str], line: str, changed: dict[str, str], code: int, begins: str
) -> None:
    for end, value in changed.items():
        name = next(name for name in environ if name.endswith(end))
        environ[name] = value.format(port=free_port())
    ended = call(line, {name: value for name, value in environ.items() if value})
    assert (ended.code, ended.out, ended.err[: len(begins)]) == (code, "", begins)


def test_a_platform_that_never_answers_is_given_up(unused_address: UnusedAddress, configure: Configure) -> None:
    path = configure(
        "accounts: [{name: main, base_url: '{url}', api_key: hunter1, timeout: 1s}]", url=unused_address.url
    )
    ended = invoke("call", "search", "--config", path)
    assert ended == Ended("", f"no answer within 1 s (127.0.0.1:{unused_address.port})\n", 3)


def test_where_there_are_several_accounts_one_must_be_named(platform: Platform, configure: Configure) -> None:
    path = configure(
        """\
        accounts: [{name: one, base_url: '{url}', api_key: wrong}, {name: two, base_url: '{url}', api_key: {key}}]
        databases: [{name: orders, url: '{url}', auth_token: {token}}, {name: billing, url: '{url}', auth_token: wrong}]
        """,
        url=platform.url,
        key=keys.API_KEY,
        token=keys.DATABASE_TOKEN_READ_ONLY,
    )
    accounts = "the configuration has one, two; --account selects one account of it\n"
    databases = "the configuration has orders, billing; --database selects one database of it\n"
    for line, code, err in (
        ("search", 2, accounts),
        ("sql 'SELECT 1'", 2, databases),
        ("search --account one", 4, None),
        ("search --account two", 0, ""),
        ("sql 'SELECT 1' --database billing", 4, None),
        ("sql 'SELECT 1' --database orders", 0, ""),
    ):
        ended = call(f"{line} --config {path}", {})
        assert (ended.code, ended.err if err is not None else None) == (code, err), line
