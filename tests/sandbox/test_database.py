"""The sandbox's database: access, streams and writes; `test_libsql` compares its answers with a real server."""

from typing import Any

import httpx
import pytest

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import DATABASE_TOKEN_FULL, DATABASE_TOKEN_READ_ONLY

CLOSE = {"type": "close"}


def execute(sql: str, **more: object) -> dict[str, Any]:
    """Make a request that executes a statement."""
    return {"type": "execute", "stmt": {"sql": sql, **more}}


class Pipeline:
    """Sends pipelines under a token."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}

    async def post(
        self, *requests: dict[str, Any], baton: str | None = None, host: str | None = None, version: int = 2
    ) -> httpx.Response:
        """Send a pipeline and return the answer."""
        headers = self._headers if host is None else {**self._headers, "Host": host}
        body = {"baton": baton, "requests": requests}
        return await self._client.post(f"/v{version}/pipeline", json=body, headers=headers)

    async def results(self, *requests: dict[str, Any], baton: str | None = None) -> list[dict[str, Any]]:
        """Send a pipeline that must be answered, and return its results."""
        answer = await self.post(*requests, baton=baton)
        assert answer.status_code == 200
        results: list[dict[str, Any]] = answer.json()["results"]
        return results

    async def rows(self, sql: str, **more: object) -> list[list[dict[str, Any]]]:
        """Execute one statement and return its rows."""
        executed, _ = await self.results(execute(sql, **more), CLOSE)
        rows: list[list[dict[str, Any]]] = executed["response"]["result"]["rows"]
        return rows


@pytest.fixture
def full(client: httpx.AsyncClient) -> Pipeline:
    return Pipeline(client, DATABASE_TOKEN_FULL)


@pytest.fixture
def reader(client: httpx.AsyncClient) -> Pipeline:
    return Pipeline(client, DATABASE_TOKEN_READ_ONLY)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM nowhere", "SQLITE_UNKNOWN"),
        ("SELECT 'a\0b'", "SQL_INPUT_ERROR"),
        ("SELECT zeroblob(100000000)", "SQLITE_TOOBIG"),
    ],
)
async def test_an_sql_error_is_one_result_and_the_next_request_runs(full: Pipeline, sql: str, code: str) -> None:
    failed, next_one, _ = await full.results(execute(sql), execute("SELECT 1"), CLOSE)
    assert (failed["type"], failed["error"]["code"], bool(failed["error"]["message"])) == ("error", code, True)
    assert next_one["type"] == "ok"


async def test_what_is_written_stays_for_the_next_request(full: Pipeline, reader: Pipeline) -> None:
    results = await full.results(
        execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)"),
        execute("INSERT INTO notes (text) VALUES ('one'), ('two')"),
        CLOSE,
    )
    inserted = results[1]["response"]["result"]
    assert (inserted["affected_row_count"], inserted["last_insert_rowid"], inserted["rows_written"]) == (2, "2", 2)
    assert await reader.rows("SELECT count(*) FROM notes") == [[{"type": "integer", "value": "2"}]]
    returned = await full.rows("UPDATE notes SET text = 'new' WHERE id = 2 RETURNING text")
    assert returned == [[{"type": "text", "value": "new"}]]


async def test_a_stream_goes_on_under_its_baton_and_a_transaction_with_it(full: Pipeline, reader: Pipeline) -> None:
    first = await full.post(
        execute("CREATE TABLE t (a)"),
        {"type": "sequence", "sql": "BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);"},
        {"type": "get_autocommit"},
        {"type": "store_sql", "sql_id": 1, "sql": "SELECT sum(a) FROM t"},
        version=3,
    )
    assert first.json()["results"][2]["response"] == {"type": "get_autocommit", "is_autocommit": False}
    assert await reader.rows("SELECT count(*) FROM t") == [[{"type": "integer", "value": "0"}]]
    second = await full.post({"type": "execute", "stmt": {"sql_id": 1}}, baton=first.json()["baton"])
    assert second.json()["results"][0]["response"]["result"]["rows"] == [[{"type": "integer", "value": "3"}]]
    third = await full.post(
        execute("COMMIT"),
        {"type": "close_sql", "sql_id": 1},
        CLOSE,
        CLOSE,
        baton=second.json()["baton"],
    )
    assert [result["type"] for result in third.json()["results"]] == ["ok"] * 4
    assert third.json()["baton"] is None
    assert await reader.rows("SELECT count(*) FROM t") == [[{"type": "integer", "value": "2"}]]


async def test_a_baton_is_good_once_and_for_its_own_kind_of_token(full: Pipeline, reader: Pipeline) -> None:
    baton = (await full.post(execute("SELECT 1"))).json()["baton"]
    assert (await full.post(CLOSE, baton=baton)).status_code == 200
    again = await full.post(CLOSE, baton=baton)
    assert (again.status_code, again.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    other = (await full.post(execute("SELECT 1"))).json()["baton"]
    assert (await reader.post(CLOSE, baton=other)).status_code == 400


async def test_what_breaks_the_protocol_ends_the_stream_and_not_what_was_done(full: Pipeline) -> None:
    baton = (await full.post(execute("CREATE TABLE t (a)"))).json()["baton"]
    broken = await full.post(execute("INSERT INTO t VALUES (1)"), {"type": "execute", "stmt": {}}, baton=baton)
    assert broken.status_code == 400
    assert await full.rows("SELECT count(*) FROM t") == [[{"type": "integer", "value": "1"}]]
    assert (await full.post(execute("SELECT 1"), baton=baton)).status_code == 400


@pytest.mark.parametrize(
    "request_that_writes",
    [
        execute("DELETE FROM orders"),
        execute("WITH x AS (SELECT 1) DELETE FROM orders WHERE id IN x"),
        {"type": "sequence", "sql": "SELECT 1; DROP TABLE orders"},
        {"type": "batch", "batch": {"steps": [{"stmt": {"sql": "INSERT INTO orders DEFAULT VALUES"}}]}},
    ],
)
async def test_a_write_under_the_reading_token_forbids_the_whole_request(
    reader: Pipeline,
    request_that_writes: dict[str, Any],
) -> None:
    answer = await reader.post(execute("SELECT 1"), request_that_writes, CLOSE)
    assert answer.status_code == 403
    assert answer.json()["error"].startswith("Authorization forbidden: ")


async def test_a_stored_text_that_writes_is_found_out_too(reader: Pipeline) -> None:
    answer = await reader.post(
        {"type": "store_sql", "sql_id": 1, "sql": "DELETE FROM orders"},
        {"type": "execute", "stmt": {"sql_id": 1}},
    )
    assert answer.status_code == 403


async def test_databases_are_named_by_their_host(full: Pipeline) -> None:
    created = await full.post(execute("CREATE TABLE bills (a)"), CLOSE, host="billing.lite.example.net")
    assert created.json()["results"][0]["type"] == "ok"
    elsewhere = await full.post(execute("SELECT * FROM bills"), CLOSE)
    assert elsewhere.json()["results"][0]["type"] == "error"
    assert (await full.post(CLOSE, host="unknown.lite.example.net")).status_code == 404


async def test_orders_come_and_are_shipped_as_the_clock_goes(reader: Pipeline, clock: WorldClock) -> None:
    sql = "SELECT count(*), max(placed), count(shipped), max(shipped), min(placed) FROM orders"
    first = [value["value"] for value in (await reader.rows(sql))[0]]
    assert (first[0], first[1], first[4]) == ("8640", "2026-02-06T12:00:00", "2026-01-07T12:05:00")
    clock.advance(86_400)
    second = [value["value"] for value in (await reader.rows(sql))[0]]
    assert (second[0], second[1]) == ("8640", "2026-02-07T12:00:00")
    assert "2026-02-06T12:00:00" < second[3] <= "2026-02-07T12:00:00"
    open_orders = await reader.rows("SELECT count(*) FROM orders WHERE shipped IS NULL")
    assert int(open_orders[0][0]["value"]) > 0


@pytest.mark.parametrize("depth", [60, 100_000])
async def test_a_condition_may_be_nested_deeply_and_is_refused_where_that_is_too_much(
    client: httpx.AsyncClient, depth: int
) -> None:
    condition = '{"type":"not","cond":' * depth + '{"type":"is_autocommit"}' + "}" * depth
    steps = '[{"stmt":{"sql":"SELECT 1"},"condition":' + condition + "}]"
    headers = {"Authorization": f"Bearer {DATABASE_TOKEN_FULL}"}
    body = '{"requests":[{"type":"batch","batch":{"steps":' + steps + '}},{"type":"close"}]}'
    answer = await client.post("/v3/pipeline", content=body, headers=headers)
    assert answer.status_code == (200 if depth == 60 else 400)
