"""Secrets appear in no error, no log and no text of any object."""

import json
import logging
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.platform.api import dns, scripting, sql_over_http
from exporter.platform.errors import PlatformError, StatementError, one_line
from exporter.platform.operation import Request
from tests.golden import assert_golden
from tests.platform.clients import KEY, Reply, answered, client_of, good
from tests.platform.raw_server import ending, raw_server, reply, saying

SECRET = "script-s3cr3t-value"
PASSWORD = "pr0xy-s3cret/word"
SENT = b64encode(f"user:{PASSWORD}".encode())
PROXY = f"http://user:{quote(PASSWORD, '')}@127.0.0.1:1"


def texts_of(error: BaseException) -> str:
    """Return every printable text of an error and of its causes."""
    texts: list[str] = []
    link: BaseException | None = error
    while link is not None:
        texts += [str(link), repr(link), repr(vars(link)), repr(link.args)]
        link = link.__cause__
    return "\n".join(texts)


STATISTICS, SCAN = Request(dns.STATISTICS, {"id": 102}), Request(dns.RECORD_SCAN, {"zoneId": 102})
ADD_SECRET = Request(scripting.ADD_SECRET, path={"id": 7}, body={"Name": "TOKEN", "Secret": SECRET})
# Answers that echo a secret, which may be a short one.
ECHOES: dict[str, tuple[Request[Any], Reply, str]] = {
    "text": (STATISTICS, Reply(401, f"key {KEY} is void"), KEY),
    "a detail": (STATISTICS, Reply(403, json.dumps({"title": "Forbidden", "detail": f"{KEY} may not"})), KEY),
    "a field": (STATISTICS, Reply(422, json.dumps({"errors": [{"field": KEY, "message": f"not {KEY}"}]})), KEY),
    "UTF-16": (STATISTICS, Reply(400, json.dumps({"ErrorKey": KEY, "Message": KEY}).encode("utf-16")), KEY),
    "a failure under 200": (STATISTICS, good(json.dumps({"ErrorKey": f"key.{KEY}", "Message": KEY})), KEY),
    "a name of a wrong type": (STATISTICS, good(json.dumps({"QueriesServedChart": {KEY: {}}})), KEY),
    "at the end of a message": (STATISTICS, Reply(401, "x" * 268 + "s3cret"), "s3cret"),
    "at the end of an error's key": (STATISTICS, Reply(400, '{"ErrorKey": "%ss3cret"}' % ("x" * 295)), "s3cret"),
    "at the end of blanks": (STATISTICS, Reply(401, "\n" * 1196 + "s3cret"), "s3cret"),
    "escapes of JSON": (
        *(STATISTICS, Reply(401, json.dumps({"detail": "x" * 262 + KEY}).replace("-", "\\u002d")), KEY),
    ),
    "a secret that was sent": (ADD_SECRET, Reply(400, json.dumps({"Message": f"TOKEN: no '{SECRET}'"})), KEY),
    "a secret that contains another": (
        Request(scripting.ADD_SECRET, path={"id": 7}, body={"Name": "TOKEN", "Secret": f"{KEY}-more"}),
        *(Reply(400, json.dumps({"Message": f"TOKEN: no '{KEY}-more', {KEY}"})), KEY),
    ),
    "a short one that contains a short key": (
        Request(scripting.ADD_SECRET, path={"id": 7}, body={"Name": "TOKEN", "Secret": "s3cret-mo"}),
        *(Reply(400, json.dumps({"Message": "TOKEN: no 's3cret-mo'"})), "s3cret"),
    ),
    "a proxy's password": (STATISTICS, Reply(407, f"no {PASSWORD}, Basic {SENT.decode()}"), KEY),
    "a short key": (STATISTICS, Reply(400, '{"ErrorKey": "s3cret", "Field": "s3", "Message": "s3cret"}'), "s3cret"),
}


async def test_a_secret_that_the_platform_echoes_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", PROXY)
    lines = []
    for words, (request, answer, key) in ECHOES.items():
        async with answered(answer, read=lambda key=key: key) as (kit, _):
            with pytest.raises(PlatformError) as caught:
                await kit.calls.call(request)
        error = caught.value
        assert [part for part in (KEY, KEY[:8], SECRET, "s3c") if part in texts_of(error)] == []
        lines.append(f"{words}: {error}; {error.error_key!r}\n")
    assert_golden("".join(lines), Path(__file__).parent / "echoes.txt")


@pytest.mark.parametrize(("key", "domain"), [("eleven-char", "eleven-char.example"), ("twelve-chars", "***.example")])
async def test_a_key_that_is_too_short_to_be_one_is_masked_in_no_good_answer(key: str, domain: str) -> None:
    async with answered(good(f'{{"Domain": "{key}.example"}}'), read=lambda: key) as (kit, _):
        got = await kit.calls.call(SCAN)
    assert getattr(got.value, "domain", "") == domain


@pytest.mark.parametrize("rows", [0, 200, 4000])
async def test_a_key_that_the_platform_echoes_in_a_good_answer_is_masked(rows: int) -> None:
    names = [f"{'x' * (number % 97)} {KEY}.example" for number in range(rows)]
    records = json.dumps([{"Name": name} for name in names])
    answer = good(f'{{"Domain": "{KEY}.example", "Records": {records}}}')
    async with answered(answer) as (kit, _):
        got = await kit.calls.call(SCAN)
    assert got.value is not None
    assert got.value.domain == "***.example"
    assert [record.name for record in got.value.records or ()] == [name.replace(KEY, "***") for name in names]
    assert KEY.encode() not in got.raw


async def test_a_token_that_a_database_echoes_in_an_sql_error_is_in_no_error() -> None:
    failed = {"type": "error", "error": {"message": f"near {KEY}: syntax error", "code": f"SQL_{KEY}"}}
    answer = good(json.dumps({"baton": None, "base_url": None, "results": [failed, failed]}).replace("-", "\\u002d"))
    async with answered(answer) as (kit, _):
        outcomes = (await sql_over_http.execute(kit.calls, ["SELECT 1"])).value
    errors = [outcome for outcome in outcomes if isinstance(outcome, StatementError)]
    assert [(str(error), error.error_key) for error in errors] == [("near ***: syntax error", "SQL_***")]
    assert KEY not in texts_of(errors[0])


async def test_a_fault_of_the_transport_does_not_carry_the_request() -> None:
    async with raw_server(ending("reset")) as server, client_of(server.url) as kit:
        error = await kit.failure()
    assert (error.__cause__, error.__suppress_context__) == (None, True)


@pytest.mark.parametrize("scheme", ["access_key", "bearer"])
async def test_no_library_logs_a_secret(scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    body = '{"Id": 7, "DeploymentKey": "d3pl0y", "EdgeScriptVariables": [{"DefaultValue": "v4lue"}]}'
    answers = (reply(body), reply(KEY, 401), reply(body), reply("", 302, Location="/"))
    with caplog.at_level(logging.DEBUG):
        async with raw_server(saying(*answers)) as server, client_of(server.url, scheme=scheme) as kit:
            answer = await kit.calls.call(Request(scripting.READ, {"id": 7}))
            with pytest.raises(PlatformError):
                await kit.calls.call(Request(scripting.READ, {"id": 7}))
            await kit.calls.call(ADD_SECRET)
            shown = repr((kit.client, vars(kit.client), answer, kit.client.calls_until(0), ADD_SECRET))
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert [secret for secret in (KEY, "d3pl0y", "v4lue", SECRET) if secret in shown + logged] == []


@given(st.text())
def test_a_message_is_one_line_of_at_most_300_characters(text: str) -> None:
    line = one_line(text)
    assert (len(line) <= 300, line.isprintable(), line == " ".join(line.split())) == (True, True, True)
