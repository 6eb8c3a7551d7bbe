import json
from typing import Any

import httpx
import pytest

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import API_KEY, DATABASE_TOKEN_FULL, DATABASE_TOKEN_READ_ONLY

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


async def test_a_select_gives_columns_rows_and_counts(reader: Pipeline) -> None:
    answer = await reader.post(execute("SELECT id, total FROM orders ORDER BY id LIMIT 1"), CLOSE)
    assert set(answer.json()) == {"baton", "base_url", "results"}
    assert (answer.json()["baton"], answer.json()["base_url"]) == (None, None)
    executed, closed = answer.json()["results"]
    assert closed == {"type": "ok", "response": {"type": "close"}}
    assert (executed["type"], executed["response"]["type"]) == ("ok", "execute")
    result = executed["response"]["result"]
    assert result["cols"] == [{"name": "id", "decltype": "INTEGER"}, {"name": "total", "decltype": "REAL"}]
    assert [value["type"] for value in result["rows"][0]] == ["integer", "float"]
    assert (result["affected_row_count"], result["last_insert_rowid"]) == (0, None)
    assert (result["rows_read"], result["rows_written"]) == (1, 0)
    assert result["query_duration_ms"] >= 0


async def test_values_are_written_as_the_protocol_says(reader: Pipeline) -> None:
    rows = await reader.rows("SELECT 9223372036854775807, 1.5, 'x', NULL, x'00ff', 9e999")
    assert rows == [
        [
            {"type": "integer", "value": "9223372036854775807"},
            {"type": "float", "value": 1.5},
            {"type": "text", "value": "x"},
            {"type": "null"},
            {"type": "blob", "base64": "AP8"},
            {"type": "float", "value": None},
        ],
    ]


async def test_arguments_by_place_come_back_as_they_went(reader: Pipeline) -> None:
    values = [
        {"type": "integer", "value": "-42"},
        {"type": "float", "value": 2.5},
        {"type": "text", "value": "it's; fine"},
        {"type": "null"},
        {"type": "blob", "base64": "AP8"},
    ]
    assert await reader.rows("SELECT ?, ?, ?, ?, ?", args=values) == [values]


async def test_arguments_by_name_are_found_with_and_without_a_prefix(reader: Pipeline) -> None:
    named = [
        {"name": "a", "value": {"type": "text", "value": "x"}},
        {"name": "@b", "value": {"type": "integer", "value": "1"}},
    ]
    rows = await reader.rows("SELECT @b, :a, :a", named_args=named)
    assert [value["value"] for value in rows[0]] == ["1", "x", "x"]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM nowhere", "SQLITE_UNKNOWN"),
        ("SELEC 1", "SQL_PARSE_ERROR"),
        ("SELECT nope", "SQL_INPUT_ERROR"),
        ("", "SQL_NO_STATEMENT"),
        ("SELECT 1; SELECT 2", "SQL_MANY_STATEMENTS"),
        ("SELECT ?", "ARGS_INVALID"),
        ("SELECT ?99999", "SQL_INPUT_ERROR"),
        ("SELECT 'a\0b'", "SQL_INPUT_ERROR"),
        ("ATTACH '/tmp/other' AS other", "SQL_PARSE_ERROR"),
        ("PRAGMA journal_mode = DELETE", "SQL_PARSE_ERROR"),
        ("CREATE TEMP TABLE t (a)", "SQL_PARSE_ERROR"),
        ("INSERT INTO orders (id) VALUES (1), (1)", "SQLITE_CONSTRAINT"),
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


async def test_a_batch_runs_its_steps_by_their_conditions(full: Pipeline) -> None:
    def step(sql: str, condition: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"stmt": {"sql": sql}, "condition": condition}

    failed, done = {"type": "error", "step": 1}, {"type": "ok", "step": 0}
    batch = {
        "steps": [
            step("SELECT 0"),
            step("nonsense"),
            step("SELECT 2", failed),
            step("SELECT 3", {"type": "not", "cond": done}),
            step("SELECT 4", {"type": "and", "conds": [done, failed]}),
            step("SELECT 5", {"type": "or", "conds": [{"type": "not", "cond": done}, {"type": "is_autocommit"}]}),
        ],
    }
    answer = await full.post({"type": "batch", "batch": batch}, CLOSE, version=3)
    result = answer.json()["results"][0]["response"]["result"]
    assert [one is not None for one in result["step_results"]] == [True, False, True, False, True, True]
    assert [one is not None for one in result["step_errors"]] == [False, True, False, False, False, False]


@pytest.mark.parametrize(
    "breaking",
    [
        [execute("SELECT 1", sql_id=1)],
        [{"type": "execute", "stmt": {}}],
        [{"type": "execute", "stmt": {"sql_id": 9}}],
        [{"type": "describe", "sql_id": 9}],
        [{"type": "sequence"}],
        [{"type": "store_sql", "sql_id": 1, "sql": "SELECT 1"}] * 2,
        [{"type": "store_sql", "sql_id": 2**31, "sql": "SELECT 1"}],
        [CLOSE, execute("SELECT 1")],
        [
            {
                "type": "batch",
                "batch": {"steps": [{"stmt": {}, "condition": {"type": "ok", "step": 0}}]},
            }
        ],
    ],
)
async def test_what_breaks_the_protocol_is_refused_in_plain_text(
    full: Pipeline, breaking: list[dict[str, Any]]
) -> None:
    baton = (await full.post(execute("SELECT 1"))).json()["baton"]
    answer = await full.post(*breaking, baton=baton)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/plain; charset=utf-8")


async def test_what_breaks_the_protocol_ends_the_stream_and_not_what_was_done(full: Pipeline) -> None:
    baton = (await full.post(execute("CREATE TABLE t (a)"))).json()["baton"]
    broken = await full.post(execute("INSERT INTO t VALUES (1)"), {"type": "execute", "stmt": {}}, baton=baton)
    assert broken.status_code == 400
    assert await full.rows("SELECT count(*) FROM t") == [[{"type": "integer", "value": "1"}]]
    assert (await full.post(execute("SELECT 1"), baton=baton)).status_code == 400


async def test_only_an_insert_has_a_last_row_id(full: Pipeline) -> None:
    results = await full.results(
        execute("CREATE TABLE t (a)"),
        execute("INSERT INTO t VALUES (1)"),
        execute("WITH x AS (SELECT 2 AS b) INSERT INTO t SELECT b FROM x"),
        execute("UPDATE t SET a = 3"),
        execute("REPLACE INTO t VALUES (4)"),
        execute("DELETE FROM t"),
        CLOSE,
    )
    ids = [one["response"]["result"]["last_insert_rowid"] for one in results[:-1]]
    assert ids == [None, "1", "2", None, "3", None]


async def test_foreign_keys_are_kept_and_can_be_turned_off(full: Pipeline) -> None:
    results = await full.results(
        execute("PRAGMA foreign_keys"),
        execute("PRAGMA foreign_keys=OFF"),
        execute("PRAGMA foreign_keys"),
        execute("PRAGMA defer_foreign_keys=ON"),
        CLOSE,
    )
    values = [one["response"]["result"]["rows"] for one in (results[0], results[2])]
    assert values == [[[{"type": "integer", "value": "1"}]], [[{"type": "integer", "value": "0"}]]]
    assert {one["type"] for one in results} == {"ok"}


async def test_a_column_that_is_a_parameter_is_named_as_it_is_written(reader: Pipeline) -> None:
    named = [{"name": "a", "value": {"type": "text", "value": "x"}}]
    executed, described, _ = await reader.results(
        execute("SELECT :a", named_args=named), {"type": "describe", "sql": "SELECT :a, :a"}, CLOSE
    )
    assert executed["response"]["result"]["cols"] == [{"name": ":a", "decltype": None}]
    assert [one["name"] for one in described["response"]["result"]["cols"]] == [":a", ":a"]


async def test_a_cursor_streams_the_result_of_each_step(client: httpx.AsyncClient) -> None:
    steps = [
        {"stmt": {"sql": "SELECT 1 AS a UNION SELECT 2"}},
        {"stmt": {"sql": "SELECT nope"}},
        {"stmt": {"sql": "SELECT 3"}, "condition": {"type": "ok", "step": 1}},
        {"stmt": {"sql": "REPLACE INTO orders SELECT * FROM orders LIMIT 1"}},
    ]
    headers = {"Authorization": f"Bearer {DATABASE_TOKEN_FULL}"}
    answer = await client.post("/v3/cursor", json={"batch": {"steps": steps}}, headers=headers)
    first, *entries = [json.loads(line) for line in answer.text.splitlines()]
    assert first["baton"] is not None
    assert [(one["type"], one.get("step")) for one in entries] == [
        ("step_begin", 0),
        ("row", None),
        ("row", None),
        ("step_end", None),
        ("step_error", 1),
        ("step_begin", 3),
        ("step_end", None),
    ]
    assert (entries[3]["last_insert_rowid"], isinstance(entries[6]["last_insert_rowid"], int)) == (None, True)


async def test_describe_does_not_execute_the_statement(reader: Pipeline) -> None:
    described = await reader.results(
        {"type": "describe", "sql": "SELECT id, region, total FROM orders WHERE id > ? AND region = :region"},
        {"type": "describe", "sql": "DELETE FROM orders"},
        {"type": "describe", "sql": "EXPLAIN DELETE FROM orders"},
        {"type": "describe", "sql": "BEGIN IMMEDIATE"},
        {"type": "describe", "sql": "WITH x AS (SELECT 1 AS a) SELECT a FROM x -- fine"},
        {"type": "describe", "sql": "nonsense"},
        CLOSE,
    )
    assert described[0]["response"] == {
        "type": "describe",
        "result": {
            "params": [{"name": None}, {"name": ":region"}],
            "cols": [
                {"name": "id", "decltype": "INTEGER"},
                {"name": "region", "decltype": "TEXT"},
                {"name": "total", "decltype": "REAL"},
            ],
            "is_explain": False,
            "is_readonly": True,
        },
    }
    flags = [
        (one["response"]["result"]["is_readonly"], one["response"]["result"]["is_explain"]) for one in described[1:5]
    ]
    assert flags == [(False, False), (False, True), (False, False), (True, False)]
    assert described[5]["type"] == "error"
    assert (await reader.rows("SELECT count(*) > 0 FROM orders"))[0][0]["value"] == "1"


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


@pytest.mark.parametrize("token", ["", "wrong", API_KEY])
async def test_no_token_or_a_bad_one_is_unauthorised(client: httpx.AsyncClient, token: str) -> None:
    answer = await Pipeline(client, token).post(execute("SELECT 1"))
    assert answer.status_code == 401
    assert answer.json()["error"].startswith("Unauthorized: ")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"requests": 1}',
        b'{"requests": [{"type": "unknown"}]}',
        b'{"requests": [{"type": "execute"}]}',
        b'{"requests": [{"type": "execute", "stmt": {"sql": "SELECT ?", "args": [{"type": "integer", "value": 1}]}}]}',
        b'{"requests": [{"type": "execute", "stmt": {"sql": "SELECT ?", "args": [{"type": "blob", "base64": "!"}]}}]}',
        b'{"baton": 1, "requests": []}',
    ],
)
async def test_a_request_that_is_malformed_is_refused_in_plain_text(client: httpx.AsyncClient, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {DATABASE_TOKEN_FULL}", "Content-Type": "application/json"}
    answer = await client.post("/v2/pipeline", content=body, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert answer.text


async def test_databases_are_named_by_their_host(full: Pipeline) -> None:
    created = await full.post(execute("CREATE TABLE bills (a)"), CLOSE, host="billing.lite.example.net")
    assert created.json()["results"][0]["type"] == "ok"
    elsewhere = await full.post(execute("SELECT * FROM bills"), CLOSE)
    assert elsewhere.json()["results"][0]["type"] == "error"
    assert (await full.post(CLOSE, host="unknown.lite.example.net")).status_code == 404


async def test_the_protocol_is_announced(client: httpx.AsyncClient) -> None:
    for path in ("/v2", "/v3", "/health"):
        answer = await client.get(path)
        assert (answer.status_code, answer.content) == (200, b"")


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


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/sandbox/faults", "DELETE, GET, HEAD, POST"),
        ("GET", "/v2/pipeline", "POST"),
        ("DELETE", "/compute/script/1", "GET, HEAD, POST"),
    ],
)
async def test_a_path_names_all_of_its_methods(client: httpx.AsyncClient, method: str, path: str, allowed: str) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
