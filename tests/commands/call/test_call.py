"""`call` against the sandbox: the request, the printed answer, and the exit code for scripts."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from exporter.commands.call.sending import exit_code
from exporter.platform import errors
from exporter.platform.errors import PlatformError
from exporter.sandbox import keys
from tests.commands.conftest import Configure, UnusedAddress
from tests.commands.platform import Platform
from tests.commands.shell import Ended, invoke
from tests.commands.terminal import type_in
from tests.ports import free_port

ADD_SECRET = "script_add_secret id=7 Name=TOKEN Secret=-"
WRONG_FIELDS = {
    "title": "Unprocessable Entity",
    "status": 422,
    "errors": [
        {"field": "imageName", "message": "is required"}, {"field": "registryId", "message": "is unknown"},
    ],
    "id": "1",
}  # fmt: skip
UPDATE = "script_update id=7 Name=renamed"


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
        ("container_tags registryId=dockerhub imageNamespace=library imageName=nginx", None, 0,
         '[{"name":"latest"},{"name":"stable"},{"name":"1.29.1"},{"name":"1.28.0"},{"name":"alpine"}]\n'),
        ("shield_bot_category_action shieldZoneId=1 category=2 action=1 --yes", None, 0,
         '{"data":{"category":2,"action":1},"error":null}\n'),
        # Options may stand before the operation.
        ("--compact --account main script id=7", answered('{"Id": 1}'), 0, '{"Id":1}\n'),
        # No secret, whether the platform's or the caller's, is shown, and nothing controls the terminal.
        *(
            ("script id=7", answered(f'{{"Id": 7, {answer}}}'), 0, f'{{"Id":7,{shown}}}\n')
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
         1, "the platform answered 400: *** is weak, said ***\n  Secret: *** is weak, said ***\n"),
        # What the platform refuses goes to standard error.
        ("container_tags registryId=x imageNamespace=y imageName=z", refused(422, WRONG_FIELDS), 1,
         "the platform answered 422: Unprocessable Entity. imageName: is required. registryId: is unknown\n"),
        ("search", {"kind": "html"}, 1, "the platform answered 200 with a body that is HTML\n"),
        *(
            ("search", {"kind": "status", "status": status, "retry_after": 3600}, code,
             f"the platform answered {status}\n")
            for status, code in ((401, 4), (403, 4), (404, 5), (408, 1), (429, 6), (400, 1), (500, 1))
        ),
        ("dns_statistics id=999", None, 5, ("the platform answered 404: The requested DNS zone was not found.\n"
         "  error key: dnsZone.not_found\n  DnsZone: The requested DNS zone was not found.\n")),
        ("dns_record_scan zoneId=104", None, 5,
         "the platform answered 404: the zone was never scanned, or does not exist\n"),
        ("shield_zone_rate_limits shieldZoneId=99", None, 5,
         ("the platform answered 202 with a failure: The shield zone was not found, or is not yours.\n"
         "  error key: not_found_or_unauthorised_access.shieldzone\n")),
        ("search", refused(400, {"ErrorKey": "a.b", "Message": "It is a.b"}), 1,
         "the platform answered 400: It is a.b\n"),
        ("shield_bot_detection shieldZoneId=2", None, 1,
         ("the platform answered 202 with a failure: The plan has no bot detection.\n"
         "  error key: invalid_plan_type.bot_detection\n")),
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
        ("script_update id=7 Name=gone",
         ("script_update on main changes something on the platform: Updates a script's settings and returns the "
         'script.\n  POST {url}/compute/script/7\n  {{"Name":"gone"}}\n'
         "No terminal to ask on: --yes sends it. Nothing was sent.\n")),
        ("serch", "there is no operation 'serch'; did you mean 'search'?\n"),
        ("nothing", "there is no operation 'nothing'; 'edge-exporter call --list' lists them\n"),
        ("script_read_by_update", "there is no operation 'script_read_by_update'; did you mean 'script_update'?\n"),
        ("dns_statistics", "id: missing; expected a whole number of 64 bits: DNS zone id (int64).\n"),
        ("sql", "statement: missing; expected SQL, - (standard input) or @FILE\n"),
        ("", ("Usage: edge-exporter call [OPTIONS] [OPERATION] [NAME=VALUE]...\n\n"
              "Error: Missing argument 'OPERATION'; 'edge-exporter call --list' lists them.\n")),
        ("sql ' '", "statement 1: is empty\n"),
        ("sql - -", "statement 1: is empty\nstatement 2: another argument already takes standard input\n"),
        ("sql @/nowhere/q.sql", "statement 1: /nowhere/q.sql does not exist\n"),
        ("sql @a\0b", "statement 1: is not the name of a file\n"),
        ("search --account x", "there is no account 'x'; the configuration has main\n"),
        ("sql 'SELECT 1' --database x", "there is no database 'x'; the configuration has default\n"),
        ("search --database x", "--database is for sql and database_pipeline; --account names an account\n"),
        ("sql 'SELECT 1' --account x", "--account is for the management API; --database names a database\n"),
        ("search --base-url platform", "--base-url: is not a URL; expected one such as https://api.example.net\n"),
    ],
)  # fmt: skip
def test_misuse_is_named_and_nothing_is_sent(platform: Platform, environ: dict[str, str], line: str, err: str) -> None:
    expected = err.format(url=platform.url) if "{url}" in err else err
    assert call(line, environ) == Ended("", expected, 2)
    assert platform.requests == []


def test_a_person_is_asked_and_yes_sends_the_write(platform: Platform, environ: dict[str, str]) -> None:
    session = type_in(["call", *UPDATE.split()], [("[y/N]", "y\n")], environ)
    assert f'POST {platform.url}/compute/script/7\n  {{"Name":"renamed"}}\nSend it? [y/N]: ' in session.seen
    assert (session.code, platform.world.scripts.scripts.name(7)) == (0, "renamed")


@pytest.mark.parametrize(
    ("line", "answer", "said"),
    [
        *((UPDATE, ("[y/N]", answer), "Nothing was sent.\n") for answer in ("n\n", "\n", "\x03", "\x04")),
        (ADD_SECRET, ("Secret: ", "\x03"), "nothing was sent\n"),
    ],
)
def test_anything_but_yes_sends_nothing(
    platform: Platform, environ: dict[str, str], line: str, answer: tuple[str, str], said: str
) -> None:
    session = type_in(["call", *line.split()], [answer], environ)
    # A terminal may echo the ^C after the words.
    assert session.seen.removesuffix("^C").endswith(said)
    assert (session.code, platform.requests) == (2, [])


def test_a_person_gets_json_over_several_lines_unless_it_is_to_be_compact(environ: dict[str, str]) -> None:
    words = ["call", "search", "search=router"]
    assert type_in(words, [], environ).seen.startswith('{\n  "Query": "router",\n')
    assert type_in([*words, "--compact"], [], environ).seen.startswith('{"Query":"router",')


def test_a_secret_comes_from_standard_input_or_a_file_without_its_last_line_break(
    platform: Platform, environ: dict[str, str], tmp_path: Path
) -> None:
    first = call(f"{ADD_SECRET} --yes", environ, "hunter2 with blanks \n")
    assert (json.loads(first.out)["Name"], first.err, first.code) == ("TOKEN", "", 0)
    assert platform.last_body == {"Name": "TOKEN", "Secret": "hunter2 with blanks "}
    taken = "There is a secret of this name."
    assert call(f"{ADD_SECRET} --yes", environ, "hunter2").err == (
        f"the platform answered 400: {taken}\n  error key: secret.name.taken\n  Name: {taken}\n"
    )
    (tmp_path / "token").write_bytes("zwei\nZeilen ü\r\n".encode())
    assert call(f"script_add_secret id=7 Name=T Secret=@{tmp_path}/token -y", environ).code == 0
    assert platform.last_body == {"Name": "T", "Secret": "zwei\nZeilen ü"}


def test_a_person_types_a_secret_unseen_and_what_is_asked_is_not_in_the_answer(
    platform: Platform, environ: dict[str, str], tmp_path: Path
) -> None:
    out, answers = tmp_path / "out.json", [("Secret: ", "hunter2\n"), ("[y/N]", "y\n")]
    session = type_in(["call", *ADD_SECRET.split()], answers, environ, out)
    assert (session.code, "hunter2" in session.seen, '"Secret":"***"' in session.seen) == (0, False, True)
    assert json.loads(out.read_text())["Name"] == "TOKEN"
    assert platform.last_body == {"Name": "TOKEN", "Secret": "hunter2"}


@pytest.mark.parametrize(
    ("line", "sent", "key", "body"),
    [
        ("script_add_secret id=7 Name=T Secret=-", "POST /compute/script/7/secrets",
         {"Content-Type": "application/json", "AccessKey": "***"}, {"Name": "T", "Secret": "***"}),
        ("search 'search=a b&c' size=3 --auth bearer", "GET /search?search=a+b%26c&size=3",
         {"Authorization": "Bearer ***"}, None),
    ],
)  # fmt: skip
def test_a_dry_run_shows_the_request_with_its_secrets_masked_and_sends_nothing(
    unused_address: UnusedAddress, line: str, sent: str, key: dict[str, str], body: object
) -> None:
    environ = {"EDGE_EXPORTER_BASE_URL": unused_address.url, "EDGE_EXPORTER_API_KEY": "hunter1"}
    ended = call(f"{line} --dry-run", environ, "hunter2")
    headers = {"Accept": "application/json, */*;q=0.5", "Accept-Encoding": "gzip", "User-Agent": "edge-exporter"}
    method, path = sent.split(" ")
    expected = {"method": method, "url": unused_address.url + path, "headers": headers | key, "body": body}
    assert json.loads(ended.out) == expected
    assert (ended.err, ended.code, unused_address.is_called()) == ("", 0, False)


def test_sql_gives_columns_and_rows_and_each_statement_its_own_error(
    platform: Platform, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "query.sql").write_text("SELECT NULL\n")
    cells = "SELECT 9007199254740993 AS a, 1.5 AS b, x'00ff' AS c, '' AS d"
    ended = call(f'sql - "{cells}" "SELECT nope" @{tmp_path}/query.sql', environ, "SELECT 1 AS one, 'x' AS two")
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
        ("database_pipeline", '{"type":"close"}', True),
        ("database_pipeline", '{"type":"describe","sql":"DROP TABLE a"}', True),
        ("database_pipeline", '{"type":"execute","stmt":{"sql":"SELECT 1"}}', True),
        ("database_pipeline", '{"type":"close"},{"type":"execute","stmt":{"sql":"DROP TABLE a"}}', False),
        ("database_pipeline", '{"type":"execute","stmt":{"sql_id":1}}', False),
        ("database_pipeline", '{"type":"execute","stmt":null}', False),
        ("database_pipeline", '{"type":"batch","batch":{"steps":[]}}', False),
        ("database_pipeline", '{"type":"sequence","sql":"SELECT 1"}', False),
        ("database_pipeline", '"close"', False),
    ],
)
def test_what_does_not_surely_read_may_write(
    platform: Platform, environ: dict[str, str], *, operation: str, word: str, is_reading: bool
) -> None:
    ended = invoke("call", operation, word if operation == "sql" else f"requests=[{word}]", environ=environ)
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
         "the configuration has no account; EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice\n"),
        ("sql 'SELECT 1'", {"DATABASE_URL": "", "AUTH_TOKEN": ""}, 2,
         "the configuration has no database; PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN suffice\n"),
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


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.CredentialError("no"), 4),
        (errors.EnvelopeError("no", error_key="not_found.ratelimit_shieldzone", status=200), 5),
        (errors.EnvelopeError("no", status=404), 5),
        (errors.EnvelopeError("no", error_key="internal.failure", status=202), 1),
    ],
)
def test_each_error_has_its_exit_code(error: PlatformError, code: int) -> None:
    assert exit_code(error) == code


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
    accounts = "there are 2 accounts: one, two; --account selects one of them\n"
    databases = "there are 2 databases: orders, billing; --database selects one of them\n"
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
