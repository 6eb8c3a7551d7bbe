"""`call` against the sandbox: the request, the printed answer, and the exit code for scripts."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

from exporter.commands.call.sending import exit_code
from exporter.platform import errors
from exporter.platform.errors import PlatformError
from exporter.sandbox import keys
from tests.commands.conftest import Configure, UnusedAddress
from tests.commands.platform import Platform
from tests.commands.shell import Ended, invoke
from tests.commands.terminal import type_in


def test_an_answer_is_one_line_of_json_for_a_program(environ: dict[str, str]) -> None:
    ended = invoke(
        "call", "container_tags", "registryId=dockerhub", "imageNamespace=library", "imageName=nginx", environ=environ
    )
    tags = ["latest", "stable", "1.29.1", "1.28.0", "alpine"]
    assert ended == Ended(json.dumps([{"name": tag} for tag in tags], separators=(",", ":")) + "\n", "", 0)


def test_parameters_of_path_and_query_are_sent(platform: Platform, environ: dict[str, str]) -> None:
    ended = invoke("call", "dns_statistics", "id=101", "dateFrom=2026-02-05", "dateTo=2026-02-05", environ=environ)
    assert list(json.loads(ended.out)["QueriesServedChart"]) == ["2026-02-05T00:00:00Z"]
    assert platform.requests == [("GET", "/dnszone/101/statistics")]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (
            ["shield_bot_category_action", "shieldZoneId=1", "category=2", "action=1"],
            {"data": {"category": 2, "action": 1}, "error": None},
        ),
        (
            ["shield_access_list_switch", "shieldZoneId=1", "id=1", "isEnabled=false"],
            {"data": {"isEnabled": False}, "error": None},
        ),
    ],
)
def test_a_write_is_sent_with_yes(
    platform: Platform, environ: dict[str, str], words: list[str], answer: dict[str, object]
) -> None:
    if words[0] == "shield_access_list_switch":
        words[2] = f"id={100 + platform.world.access_list_ids()[0][1]}"
    ended = invoke("call", *words, "--yes", environ=environ)
    assert (json.loads(ended.out), ended.err, ended.code) == (answer, "", 0)


def test_a_write_without_yes_is_shown_and_not_sent_where_there_is_nobody_to_ask(
    platform: Platform, environ: dict[str, str]
) -> None:
    ended = invoke("call", "script_update", "id=7", "Name=gone", environ=environ)
    assert ended == Ended(
        "",
        dedent(f"""\
            script_update on main changes something on the platform: Updates a script's settings and returns the script.
              POST {platform.url}/compute/script/7
              {{"Name":"gone"}}
            No terminal to ask on: --yes sends it. Nothing was sent.
            """),
        2,
    )
    assert platform.requests == []


def test_a_person_is_asked_and_yes_sends_the_write(platform: Platform, environ: dict[str, str]) -> None:
    session = type_in(["call", "script_update", "id=7", "Name=renamed"], [("[y/N]", "y\n")], environ)
    assert f'POST {platform.url}/compute/script/7\n  {{"Name":"renamed"}}\nSend it? [y/N]: ' in session.seen
    assert session.code == 0
    assert platform.world.scripts.scripts.name(7) == "renamed"


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x03", "\x04"])
def test_anything_but_yes_sends_nothing(platform: Platform, environ: dict[str, str], answer: str) -> None:
    session = type_in(["call", "script_update", "id=7", "Name=renamed"], [("[y/N]", answer)], environ)
    # A terminal may echo the ^C after the words.
    assert session.seen.removesuffix("^C").endswith("Nothing was sent.\n")
    assert session.code == 2
    assert platform.requests == []


def test_a_person_gets_json_over_several_lines_unless_it_is_to_be_compact(environ: dict[str, str]) -> None:
    words = ["call", "search", "search=router"]
    assert type_in(words, [], environ).seen.startswith('{\n  "Query": "router",\n')
    assert type_in([*words, "--compact"], [], environ).seen.startswith('{"Query":"router",')


def test_a_secret_is_read_from_standard_input_and_never_shown(platform: Platform, environ: dict[str, str]) -> None:
    words = ("call", "script_add_secret", "id=7", "Name=TOKEN", "Secret=-")
    ended = invoke(*words, "--yes", stdin="hunter2 with blanks \n", environ=environ)
    assert (json.loads(ended.out)["Name"], ended.err, ended.code) == ("TOKEN", "", 0)
    assert platform.last_body == {"Name": "TOKEN", "Secret": "hunter2 with blanks "}
    again = invoke(*words, "--yes", stdin="hunter2", environ=environ)
    assert again == Ended(
        "",
        "the platform answered 400: There is a secret of this name.\n"
        "  error key: secret.name.taken\n  Name: There is a secret of this name.\n",
        1,
    )


def test_a_secret_is_read_from_a_file_without_its_last_line_break(
    platform: Platform, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "token").write_bytes("zwei\nZeilen ü\r\n".encode())
    ended = invoke(
        "call", "script_add_secret", "id=7", "Name=TOKEN", f"Secret=@{tmp_path}/token", "-y", environ=environ
    )
    assert ended.code == 0
    assert platform.last_body == {"Name": "TOKEN", "Secret": "zwei\nZeilen ü"}


def test_a_person_types_a_secret_unseen(platform: Platform, environ: dict[str, str]) -> None:
    session = type_in(
        ["call", "script_add_secret", "id=7", "Name=TOKEN", "Secret=-"],
        [("Secret: ", "hunter2\n"), ("[y/N]", "y\n")],
        environ,
    )
    assert session.code == 0
    assert "hunter2" not in session.seen
    assert '"Secret":"***"' in session.seen
    assert platform.last_body == {"Name": "TOKEN", "Secret": "hunter2"}


def test_a_secret_that_the_platform_echoes_is_masked(platform: Platform, environ: dict[str, str]) -> None:
    platform.fail(
        kind="status", status=400, body='{"Message": "hunter2 is weak, said sandbox-api-key", "Field": "Secret"}'
    )
    ended = invoke("call", "script_add_secret", "id=7", "Name=T", "Secret=-", "--yes", stdin="hunter2", environ=environ)
    assert ended == Ended("", "the platform answered 400: *** is weak, said ***\n  Secret: *** is weak, said ***\n", 1)
    platform.faults.clear()
    platform.fail(kind="status", status=200, content_type="application/json", body='{"Id": 1, "Name": "hunter2"}')
    ended = invoke("call", "script_add_secret", "id=7", "Name=T", "Secret=-", "--yes", stdin="hunter2", environ=environ)
    assert ended == Ended('{"Id":1,"Name":"***"}\n', "", 0)


def test_a_script_s_deployment_key_and_default_values_are_masked(environ: dict[str, str]) -> None:
    for words in (["script", "id=7"], ["script_update", "id=7", "--yes"]):
        ended = invoke("call", *words, environ=environ)
        script = json.loads(ended.out)
        assert script["DeploymentKey"] == "***"
        assert {variable["DefaultValue"] for variable in script["EdgeScriptVariables"]} <= {"***", None}
        assert keys.DEPLOYMENT_KEY_PREFIX not in ended.out
        assert keys.DEFAULT_VALUE_PREFIX not in ended.out


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ('"DeploymentKey": "d", "Name": "ü"', '"DeploymentKey":"***","Name":"ü"'),
        (
            '"Any": [{"Secret": ["s", null, 2]}, {"DefaultValue": ""}]',
            '"Any":[{"Secret":["***",null,2]},{"DefaultValue":""}]',
        ),
        ('"Any": ["SANDBOX-api-key", "sandbox%252Dapi%252Dkey", 1.5]', '"Any":["***","***",1.5]'),
        (
            r'"Any": ["\u001b[2J", "\u009b31m", "\u202e", "\ud800"]',
            r'"Any":["\u001b[2J","\u009b31m","\u202e","\ud800"]',
        ),
    ],
)
def test_an_answer_shows_no_secret_and_controls_no_terminal(
    platform: Platform, environ: dict[str, str], answer: str, shown: str
) -> None:
    platform.fail(kind="status", status=200, content_type="application/json", body=f'{{"Id": 7, {answer}}}')
    assert invoke("call", "script", "id=7", environ=environ) == Ended(f'{{"Id":7,{shown}}}\n', "", 0)


def test_a_dry_run_shows_the_request_with_its_secrets_masked_and_sends_nothing(unused_address: UnusedAddress) -> None:
    environ = {"EDGE_EXPORTER_BASE_URL": unused_address.url, "EDGE_EXPORTER_API_KEY": "hunter1"}
    ended = invoke(
        "call", "script_add_secret", "id=7", "Name=T", "Secret=-", "--dry-run", stdin="hunter2", environ=environ
    )
    assert json.loads(ended.out) == {
        "method": "POST",
        "url": f"{unused_address.url}/compute/script/7/secrets",
        "headers": {
            "Accept": "application/json, */*;q=0.5",
            "Accept-Encoding": "gzip",
            "User-Agent": "edge-exporter",
            "Content-Type": "application/json",
            "AccessKey": "***",
        },
        "body": {"Name": "T", "Secret": "***"},
    }
    assert (ended.err, ended.code, unused_address.is_called()) == ("", 0, False)


def test_a_dry_run_of_a_read_has_no_body_and_shows_the_scheme_of_the_account(unused_address: UnusedAddress) -> None:
    environ = {"EDGE_EXPORTER_BASE_URL": unused_address.url, "EDGE_EXPORTER_API_KEY": "hunter1"}
    ended = invoke("call", "search", "search=a b&c", "size=3", "--auth", "bearer", "--dry-run", environ=environ)
    request = json.loads(ended.out)
    assert (request["method"], request["body"]) == ("GET", None)
    assert request["url"] == f"{unused_address.url}/search?search=a+b%26c&size=3"
    assert request["headers"]["Authorization"] == "Bearer ***"
    assert "AccessKey" not in request["headers"]


def test_sql_gives_columns_and_rows_and_each_statement_its_own_error(
    platform: Platform, environ: dict[str, str]
) -> None:
    ended = invoke("call", "sql", "SELECT 1 AS one, 'x' AS two", "SELECT nope", "SELECT NULL", environ=environ)
    first, second, third = json.loads(ended.out)
    assert first == {"columns": ["one", "two"], "rows": [[1, "x"]]}
    assert second["error"]["message"] == "SQL input error: no such column: nope"
    assert third == {"columns": ["NULL"], "rows": [[None]]}
    assert ended.err == f"statement 2: SQL input error: no such column: nope ({second['error']['code']})\n"
    assert ended.code == 1
    assert platform.requests == [("POST", "/v2/pipeline")]


def test_sql_comes_from_standard_input_or_a_file(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text("SELECT 2\n")
    ended = invoke("call", "sql", "-", f"@{tmp_path}/query.sql", stdin="SELECT 1", environ=environ)
    assert [answer["rows"] for answer in json.loads(ended.out)] == [[[1]], [[2]]]


@pytest.mark.parametrize(
    ("operation", "word", "is_reading"),
    [
        *(
            ("sql", sql, is_reading)
            for sql, is_reading in (
                (" values (1);", True),
                ("WITH a AS (SELECT 1) SELECT * FROM a", True),
                ("/* x */ select 1", True),
                ("SELECT 1; DROP TABLE a", False),
                ("PRAGMA user_version = 2", False),
                ("WITH a AS (SELECT 1) DELETE FROM b", False),
            )
        ),
        *(
            ("database_pipeline", f"requests=[{request}]", is_reading)
            for request, is_reading in (
                ('{"type":"close"}', True),
                ('{"type":"describe","sql":"DROP TABLE a"}', True),
                ('{"type":"execute","stmt":{"sql":"SELECT 1"}}', True),
                ('{"type":"close"},{"type":"execute","stmt":{"sql":"DROP TABLE a"}}', False),
                ('{"type":"execute","stmt":{"sql_id":1}}', False),
                ('{"type":"execute","stmt":null}', False),
                ('{"type":"batch","batch":{"steps":[]}}', False),
                ('{"type":"sequence","sql":"SELECT 1"}', False),
                ('"close"', False),
            )
        ),
    ],
)
def test_what_does_not_surely_read_may_write(
    platform: Platform,
    environ: dict[str, str],
    operation: str,
    word: str,
    is_reading: bool,  # noqa: FBT001
) -> None:
    ended = invoke("call", operation, word, environ=environ)
    assert (bool(platform.requests), "changes something" in ended.err) == (is_reading, not is_reading)


def test_cells_of_every_type_are_json(environ: dict[str, str]) -> None:
    ended = invoke("call", "sql", "SELECT 9007199254740993 AS a, 1.5 AS b, x'00ff' AS c, '' AS d", environ=environ)
    assert json.loads(ended.out)[0]["rows"] == [[9007199254740993, 1.5, {"base64": "AP8="}, ""]]


def test_a_statement_that_may_write_is_never_sent_twice(platform: Platform, environ: dict[str, str]) -> None:
    assert invoke("call", "sql", "DELETE FROM orders", "--yes", environ=environ).code == 0
    assert json.loads(invoke("call", "sql", "SELECT count(*) FROM orders", environ=environ).out)[0]["rows"] == [[0]]
    platform.noted.clear()
    platform.fail(kind="reset", point="headers")
    assert invoke("call", "sql", "DELETE FROM orders", "--yes", environ=environ).code == 3
    assert platform.requests == [("POST", "/v2/pipeline")]
    invoke("call", "sql", "SELECT 1", environ=environ)
    assert len(platform.requests) == 4  # a read is tried three times


def test_a_read_only_token_may_not_write(environ: dict[str, str]) -> None:
    environ["PLATFORM_DATABASE_AUTH_TOKEN"] = keys.DATABASE_TOKEN_READ_ONLY
    ended = invoke("call", "sql", "DELETE FROM orders", "--yes", environ=environ)
    assert (ended.out, ended.code) == ("", 4)
    assert ended.err.startswith("the platform answered 403: Authorization forbidden: ")


def test_the_pipeline_takes_its_requests_as_they_are(environ: dict[str, str]) -> None:
    requests = [{"type": "execute", "stmt": {"sql": "SELECT 42 AS n"}}, {"type": "close"}]
    ended = invoke("call", "database_pipeline", f"requests={json.dumps(requests)}", environ=environ)
    first = json.loads(ended.out)["results"][0]["response"]["result"]
    assert (first["cols"][0]["name"], first["rows"]) == ("n", [[{"type": "integer", "value": "42"}]])


UNKNOWN_ZONE = (
    "the platform answered 404: The requested DNS zone was not found.\n"
    "  error key: dnsZone.not_found\n"
    "  DnsZone: The requested DNS zone was not found.\n"
)


@pytest.mark.parametrize(
    ("words", "err", "code"),
    [
        (["dns_statistics", "id=999"], UNKNOWN_ZONE, 5),
        (
            ["dns_record_scan", "zoneId=104"],
            "the platform answered 404: the zone was never scanned, or does not exist\n",
            5,
        ),
        (
            ["shield_zone_rate_limits", "shieldZoneId=99"],
            (
                "the platform answered 202 with a failure: The shield zone was not found, or is not yours.\n"
                "  error key: not_found_or_unauthorised_access.shieldzone\n"
            ),
            5,
        ),
        (
            ["shield_bot_detection", "shieldZoneId=2"],
            (
                "the platform answered 202 with a failure: The plan has no bot detection.\n"
                "  error key: invalid_plan_type.bot_detection\n"
            ),
            1,
        ),
        (["shield_zones", "perPage=5000"], None, 1),
    ],
)
def test_what_the_platform_refuses_goes_to_standard_error(
    environ: dict[str, str], words: list[str], err: str | None, code: int
) -> None:
    ended = invoke("call", *words, environ=environ)
    assert (ended.out, ended.code) == ("", code)
    assert ended.err == (err if err is not None else ended.err)
    assert ended.err.startswith("the platform answered ")


def test_field_errors_are_told_one_by_one(platform: Platform, environ: dict[str, str]) -> None:
    body = {
        "title": "Unprocessable Entity",
        "status": 422,
        "errors": [{"field": "imageName", "message": "is required"}, {"field": "registryId", "message": "is unknown"}],
        "id": "1",
    }
    platform.fail(kind="status", status=422, body=json.dumps(body))
    ended = invoke("call", "container_tags", "registryId=x", "imageNamespace=y", "imageName=z", environ=environ)
    assert ended == Ended(
        "", "the platform answered 422: Unprocessable Entity. imageName: is required. registryId: is unknown\n", 1
    )


def test_a_platform_that_is_not_reached_has_an_exit_code_of_its_own(
    closed_port: int, unused_address: UnusedAddress
) -> None:
    refused = invoke("call", "search", "--base-url", f"http://127.0.0.1:{closed_port}", environ=key("any"))
    assert (refused.out, refused.code) == ("", 3)
    assert refused.err.startswith(f"nothing accepts connections there (127.0.0.1:{closed_port}")
    unnamed = invoke("call", "search", "--base-url", "http://platform.invalid", environ=key("any"))
    assert (unnamed.out, unnamed.code) == ("", 3)
    assert unnamed.err.startswith("the host name does not resolve (platform.invalid")
    assert not unused_address.is_called()


def test_a_platform_that_never_answers_is_given_up(unused_address: UnusedAddress, configure: Configure) -> None:
    path = configure(
        "accounts: [{name: main, base_url: '{url}', api_key: hunter1, timeout: 1s}]", url=unused_address.url
    )
    ended = invoke("call", "search", "--config", path)
    assert ended == Ended("", f"no answer within 1 s (127.0.0.1:{unused_address.port})\n", 3)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConnectTimeout("no"), 3),
        (errors.CredentialError("no"), 4),
        (errors.EnvelopeError("no", error_key="not_found.ratelimit_shieldzone", status=200), 5),
        (errors.EnvelopeError("no", status=404), 5),
        (errors.EnvelopeError("no", error_key="internal.failure", status=202), 1),
    ],
)
def test_each_error_has_its_exit_code(error: PlatformError, code: int) -> None:
    assert exit_code(error) == code


@pytest.mark.parametrize(("status", "code"), [(401, 4), (403, 4), (404, 5), (408, 1), (429, 6), (400, 1), (500, 1)])
def test_each_status_has_its_exit_code(platform: Platform, environ: dict[str, str], status: int, code: int) -> None:
    platform.fail(kind="status", status=status, retry_after=3600)
    ended = invoke("call", "search", environ=environ)
    assert ended == Ended("", f"the platform answered {status}\n", code)


def test_an_answer_that_cannot_be_used_is_a_failure(platform: Platform, environ: dict[str, str]) -> None:
    platform.fail(kind="html")
    ended = invoke("call", "search", environ=environ)
    assert ended == Ended("", "the platform answered 200 with a body that is HTML\n", 1)


def test_a_wrong_key_and_a_key_that_cannot_be_read_are_not_authorised(
    environ: dict[str, str], configure: Configure, platform: Platform
) -> None:
    assert invoke("call", "search", environ=environ | {"EDGE_EXPORTER_API_KEY": "wrong"}) == Ended(
        "", "the platform answered 401\n", 4
    )
    path = configure("accounts: [{name: main, base_url: '{url}', api_key_file: key}]", url=platform.url)
    assert invoke("call", "search", "--config", path).code == 2  # the configuration says so before


@pytest.mark.parametrize(
    ("words", "err"),
    [
        (["serch"], "there is no operation 'serch'; did you mean 'search'?\n"),
        (["nothing"], "there is no operation 'nothing'; 'edge-exporter call --list' lists them\n"),
        (["script_read_by_update", "id=7"], None),
        (["dns_statistics"], "id: missing; expected a whole number of 64 bits: DNS zone id (int64).\n"),
        (["sql"], "statement: missing; expected SQL, - (standard input) or @FILE\n"),
        (["sql", " "], "statement 1: is empty\n"),
        (
            ["sql", "-", "-"],
            "statement 1: is empty\nstatement 2: another argument already takes standard input\n",
        ),
        (["sql", "@/nowhere/q.sql"], "statement 1: /nowhere/q.sql does not exist\n"),
        (["sql", "@a\0b"], "statement 1: is not the name of a file\n"),
        (["search", "--account", "x"], "there is no account 'x'; the configuration has main\n"),
        (["sql", "SELECT 1", "--database", "x"], "there is no database 'x'; the configuration has default\n"),
        (["search", "--database", "x"], "--database is for sql and database_pipeline; --account names an account\n"),
        (["sql", "SELECT 1", "--account", "x"], "--account is for the management API; --database names a database\n"),
        (
            ["search", "--base-url", "platform"],
            "--base-url: is not a URL; expected one such as https://api.example.net\n",
        ),
    ],
)
def test_misuse_is_named_and_nothing_is_sent(
    platform: Platform, environ: dict[str, str], words: list[str], err: str | None
) -> None:
    ended = invoke("call", *words, environ=environ, stdin="")
    assert (ended.out, ended.code) == ("", 2)
    assert ended.err == (err if err is not None else ended.err)
    assert platform.requests == []


def test_where_there_are_several_accounts_one_must_be_named(platform: Platform, configure: Configure) -> None:
    path = configure(
        """\
        accounts:
          - {name: one, base_url: '{url}', api_key: wrong}
          - {name: two, base_url: '{url}', api_key: sandbox-api-key}
        databases:
          - {name: orders, url: '{url}', auth_token: sandbox-database-token-read-only}
          - {name: billing, url: '{url}', auth_token: wrong}
        """,
        url=platform.url,
    )
    assert invoke("call", "search", "--config", path) == Ended(
        "", "there are 2 accounts: one, two; --account selects one of them\n", 2
    )
    assert invoke("call", "sql", "SELECT 1", "--config", path) == Ended(
        "", "there are 2 databases: orders, billing; --database selects one of them\n", 2
    )
    assert invoke("call", "search", "--config", path, "--account", "one").code == 4
    assert invoke("call", "search", "--config", path, "--account", "two").code == 0
    assert invoke("call", "sql", "SELECT 1", "--config", path, "--database", "billing").code == 4
    assert invoke("call", "sql", "SELECT 1", "--config", path, "--database", "orders").code == 0


def test_a_missing_account_or_database_says_what_would_suffice() -> None:
    database = {"PLATFORM_DATABASE_URL": "http://127.0.0.1:1", "PLATFORM_DATABASE_AUTH_TOKEN": "t"}
    assert invoke("call", "search", environ=database) == Ended(
        "", "the configuration has no account; EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice\n", 2
    )
    account = key("k") | {"EDGE_EXPORTER_BASE_URL": "http://127.0.0.1:1"}
    assert invoke("call", "sql", "SELECT 1", environ=account) == Ended(
        "", "the configuration has no database; PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN suffice\n", 2
    )


def test_the_help_explains_the_variables_of_a_database_and_its_examples_ask_for_what_they_say(
    environ: dict[str, str],
) -> None:
    reported = invoke("call", "--help").out
    assert "PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN" in reported
    example = next(line.split() for line in reported.splitlines() if "call dns_statistics" in line)
    days = json.loads(invoke(*example[1:], environ=environ).out)["QueriesServedChart"]
    assert (min(days), max(days)) == ("2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z")  # the platform's today


def test_options_may_stand_before_the_operation(environ: dict[str, str]) -> None:
    assert invoke("call", "--compact", "--account", "main", "search", "search=router", environ=environ).code == 0


def key(text: str) -> dict[str, str]:
    return {"EDGE_EXPORTER_API_KEY": text}
