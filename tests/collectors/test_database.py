"""The collectors of databases: whether they answer, and the gauges that users define by SQL.

`expositions/databases.txt` has what each case asks for, and what it gives.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from exporter.collectors.database import COLLECTOR, DatabaseQuery, QueryCollector, SqlQuery
from exporter.platform.errors import Forbidden, NotFound, NotJson, Refused, Rejected, ServerError, Unauthorized
from exporter.targets.target import Target
from tests.collectors.polls import EXPOSITIONS, Body, told
from tests.golden import assert_golden

DATABASE = Target("", "database", "orders", "orders")
TIERS = "region tier value"


def query(
    sql: str = "SELECT region, tier, count(*) AS value FROM orders GROUP BY region, tier",
    labels: str = "region tier",
    **more: Any,
) -> DatabaseQuery:
    one = SqlQuery(name="open", help="Orders not yet shipped.", sql=sql, labels=tuple(labels.split()), **more)
    return DatabaseQuery("orders", one, 60.0)


def cell(value: object) -> object:
    match value:
        case None:
            return {"type": "null"}
        case bytes():
            return {"type": "blob", "base64": "AAE"}
        case int():
            return {"type": "integer", "value": str(value)}
        case float():
            return {"type": "float", "value": value}
        case str():
            return {"type": "text", "value": value}
    return value


def answer(*results: object) -> str:
    return json.dumps({"baton": None, "results": [*results, {"type": "ok", "response": {"type": "close"}}]})


def ok(kind: str, result: object) -> dict[str, Any]:
    return {"type": "ok", "response": {"type": kind, "result": result}}


def failed(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"message": message, "code": "SQLITE_ERROR"}}


def table(columns: str, *rows: Sequence[object]) -> str:
    cols = [{"name": name, "decltype": None} for name in columns.split()]
    return answer(ok("execute", {"cols": cols, "rows": [[cell(value) for value in row] for row in rows]}))


READS = answer(ok("describe", {"is_readonly": True}))
WRITES = answer(ok("describe", {"is_readonly": False}))
ONE = query("SELECT 1", "")
REGION = query("SELECT 2", "region")
VALUE = table("value", [1])
NOT_ALLOWED = Forbidden("no", status=403)
NUMBERS = (7, -1.5, -0.0, "42", " 1e3 ", "-.5", 2**62)
NO_NUMBERS = ("many", "", "nano", "1_000", "0x10", "\uff14\uff12", b"x")
INFINITE = ("nan", "-inf", "1e999", "-1e999", 10**400, math.inf, {"type": "float", "value": None})
ODD_TEXTS = ([1, 1], [1.5, 2], [None, 3], ['a"b\\c\nd', 4], [b"", 5])
NO_DESCRIBE: dict[str, Body] = {
    "a refusal": Rejected("unknown request type", status=400),
    "a 404": NotFound("404", status=404),
    "HTML": NotJson("HTML", status=200),
    "an SQL error": answer(failed("describe is not supported")),
    "a description without a word": answer(ok("describe", {})),
    "no description": answer({"type": "ok", "response": {"type": "describe"}}),
}
STATEMENTS = (
    "SELECT 1", "select 1;", "SELECT 1; -- x", "-- a comment; with a semicolon\nSELECT 1", "SELECT 'it''s; fine'",
    '/* ; */ SELECT \';\' AS a, "b;" FROM [c;d] ; ', "SELECT 1; SELECT 2", "SELECT 1; -- x\nDELETE FROM a",
    "SELECT 'a;b'; DROP TABLE a", "SELECT 'a; b", "-- x\n /* y */ select 1", "VALUES (1)",
    "EXPLAIN QUERY PLAN SELECT 1", "EXPLAIN DELETE FROM a", "EXPLAIN PRAGMA journal_mode = WAL",
    'EXPLAIN PRAGMA "user_version"(5)',
    "WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT replace(b, 'x', 'y') FROM c) SELECT * FROM a",
    "WITH a AS (SELECT 'delete' AS x, \"update\" FROM c) SELECT * FROM a", "WITH a AS (SELECT 1) DELETE FROM b",
    "WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a", "with a as (select 1) REPLACE INTO b SELECT * FROM a",
    "WITH a AS (SELECT 1) UPDATE b SET c = 1", "SELECTED", "PRAGMA user_version", "INSERT INTO a VALUES (1)",
    "DELETE FROM a -- SELECT", "/* SELECT", "SELECT 1 /* ; DELETE FROM a",
)  # fmt: skip


def result(one: DatabaseQuery, columns: str, *rows: Sequence[object]) -> tuple[DatabaseQuery, list[Body]]:
    """Return a query whose database reads and answers with these rows."""
    return one, [READS, table(columns, *rows)]


CASES: dict[str, tuple[DatabaseQuery | None, list[Body]]] = {
    "the database answers": (None, [table("1", [1])]),
    "it is not there": (None, [Refused("nobody there")]),
    "it refuses the token": (None, [Unauthorized("401", status=401)]),
    "it answers with HTML": (None, [NotJson("HTML", status=200)]),
    "it answers with an SQL error": (None, [answer(failed("disk I/O error"))]),
    "two labels": result(
        query(), TIERS, ["us", "pro", 12], ["eu", "free", 4.5], ["eu", None, "7"], ["ap", "pro", None]
    ),
    "no labels": result(ONE, "value other", [3, "x"]),
    "rows in one order": result(REGION, "region value", ["b", 1], ["a", 2]),
    "rows and columns in another order": result(REGION, "value region", [2, "a"], [1, "b"]),
    "no rows": result(query(), TIERS),
    **{f"a number, {value!r}": result(ONE, "value", [value]) for value in NUMBERS},
    **{f"no number, {value!r}": result(ONE, "value", [value]) for value in NO_NUMBERS},
    **{
        f"an infinite number between others, {value!s:.20}": result(
            query(), TIERS, ["us", "pro", 12], ["eu", "pro", value], ["ap", "pro", 3]
        )
        for value in INFINITE
    },
    "columns are missing": result(query(), "region count(*)"),
    "there are no columns": result(query(), ""),
    "a column stands twice": result(query(), f"{TIERS} value"),
    "labels stand twice": result(query(), TIERS, ["eu", "pro", 1], ["eu", "pro", 2]),
    "no labels stand twice": result(ONE, "value", [1], [2]),
    "labels that are alike after they are cleaned": result(REGION, "region value", ["a\0", 1], ["a\ufffd", 2]),
    "as many rows as allowed": result(query(max_rows=2), TIERS, ["eu", "0", 1], ["eu", "1", 1]),
    "more rows than allowed": result(query(max_rows=2), TIERS, *[["eu", str(tier), 1] for tier in range(3)]),
    "more rows than the one without labels": result(query("SELECT 1", "", max_rows=1), "value", [1], [2]),
    "labels that are no text": result(REGION, "region value", *ODD_TEXTS),
    "an SQL error": (query(), [READS, answer(failed("no such table: orders"))]),
    "the token may not describe": (query(), [NOT_ALLOWED]),
    "the token may not execute": (query(), [READS, NOT_ALLOWED]),
    "the database asks to wait": (query(), [READS, Forbidden("slow down", status=403, retry_after=9.0)]),
    **{
        f"the database says that it writes, {sql}": (query(sql, ""), [WRITES])
        for sql in ("DELETE FROM orders", "SELECT 1; DELETE FROM orders", "SELECT writefile('x', 1)")
    },
    "the database says that it reads": result(query("PRAGMA user_version", "", value="version"), "version", [3]),
    **{f"no word of the database, {name}": (ONE, [body, VALUE]) for name, body in NO_DESCRIBE.items()},
    **{f"nor may it write, {name}": (query("UPDATE a SET b = 1"), [body]) for name, body in NO_DESCRIBE.items()},
    **{f"no word of the database, {sql!r}": (query(sql, ""), [answer(failed("")), VALUE]) for sql in STATEMENTS},
}


async def test_answers_of_databases_give_their_series() -> None:
    text = ""
    for words, (one, answers) in CASES.items():
        polls = (COLLECTOR, DATABASE) if one is None else (QueryCollector([one]), one.target())
        text += f"### {words}\n{await told(polls[0], answers, polls[1])}"
    stock = DatabaseQuery("stock", ONE.query, 60.0)
    again: dict[str, tuple[list[Body], list[DatabaseQuery]]] = {
        "each database is asked once about a query": ([READS, VALUE, VALUE, READS, VALUE], [ONE, ONE, stock]),
        "a database without a word is asked each time": ([NO_DESCRIBE["a 404"], VALUE] * 2, [ONE, ONE]),
        **{
            f"a database that had no word is asked again: {fault.reason}": ([fault, READS, VALUE], [ONE, ONE])
            for fault in (ServerError("500", status=500), Refused("no"), Unauthorized("401", status=401))
        },
    }
    for words, (answers, queries) in again.items():
        text += f"### {words}\n{await told(QueryCollector(queries), answers, *(one.target() for one in queries))}"
    assert_golden(text, EXPOSITIONS / "databases.txt")
