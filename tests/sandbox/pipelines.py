"""Pipelines to which a libSQL server and the sandbox's database must give the same answers.

Intended differences are not among them: declared types of columns, the names of parameters and PRAGMAs in `describe`,
statements and PRAGMAs that a server refuses and SQLite allows, and texts without a statement.
"""

from functools import partial
from typing import Any

Request = dict[str, Any]

CLOSE: Request = {"type": "close"}
AUTOCOMMIT: Request = {"type": "get_autocommit"}


def execute(sql: str, *args: Request, **more: Any) -> Request:
    """Make a request that executes a statement with positional arguments."""
    return {"type": "execute", "stmt": {"sql": sql, "args": list(args), **more}}


def stored(sql_id: int) -> Request:
    return {"type": "execute", "stmt": {"sql_id": sql_id}}


def store(sql_id: int, sql: str) -> Request:
    return {"type": "store_sql", "sql_id": sql_id, "sql": sql}


def step(sql: str, condition: Request | None = None) -> Request:
    return {"stmt": {"sql": sql}, **({} if condition is None else {"condition": condition})}


def batch(*steps: Request) -> Request:
    return {"type": "batch", "batch": {"steps": list(steps)}}


def value(kind: str, what: object = None) -> Request:
    return {"type": kind, **({} if what is None else {"base64" if kind == "blob" else "value": what})}


def _of(what: str, kind: str, given: object) -> Request:
    return {"type": kind, what: given}


describe, sequence = partial(_of, "sql", "describe"), partial(_of, "sql", "sequence")
ok, failed = partial(_of, "step", "ok"), partial(_of, "step", "error")


TEXT = value("text", "x")
NAMED = {"name": "a", "value": TEXT}
TABLE = (
    execute("DROP TABLE IF EXISTS t"),
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT UNIQUE CHECK (n <> 'bad'), v REAL)"),
    execute("INSERT INTO t (n, v) VALUES ('a', 1.5), ('b', NULL)"),
)
_READING = (
    "SELECT 1", "SELECT 1 AS a, 2 AS a, 3", "SELECT 9e999, -9e999",
    "SELECT 9223372036854775807, 1.0, 1e20, x'', '', NULL, 'ü', '🚀'", "SELECT * FROM t", "SELECT t.* FROM t, t AS u",
    "WITH x AS (SELECT id FROM t) SELECT id FROM x", "EXPLAIN QUERY PLAN SELECT * FROM t", "PRAGMA foreign_keys=OFF",
)  # fmt: skip
_WRONG = (
    "SELEC", "SELECT nope", "CREATE TABLE t (a)", "SELECT 1; SELECT 2", "INSERT INTO t (id) VALUES (1)",
    "SELECT zeroblob(100000000000)", "COMMIT", "ATTACH 'x.db' AS y", "SELECT load_extension('x')",
)  # fmt: skip
_DESCRIBED = (
    "SELECT * FROM t WHERE id = ? AND n = ?", "SELECT 1, 1 AS a, 2 AS a", "UPDATE t SET v = ?", "DROP TABLE t",
    "SELECT nope", "WITH x AS (SELECT 1 AS a) DELETE FROM t",
)  # fmt: skip
_ARGUMENTS: tuple[Request, ...] = (
    TEXT, value("null"), value("integer", "-42"), value("integer", "9223372036854775808"), value("float", "1"),
    value("blob", "AP8"), value("nope"), {},
)  # fmt: skip

PIPELINES: tuple[tuple[Request, ...], ...] = (
    *((*TABLE, execute(sql), execute("SELECT 2"), CLOSE) for sql in (*_READING, *_WRONG)),
    *((*TABLE, describe(sql), CLOSE) for sql in _DESCRIBED),
    (*TABLE, execute("UPDATE t SET v = 2"), execute("DELETE FROM t WHERE id = 99"), execute("DELETE FROM t"), CLOSE),
    (*TABLE, execute("REPLACE INTO t VALUES (7, 'z', 1)"), execute("INSERT OR IGNORE INTO t (id) VALUES (7)"), CLOSE),
    (*TABLE, execute("BEGIN"), execute("DELETE FROM t"), execute("ROLLBACK"), execute("SELECT count(*) FROM t"), CLOSE),
    *((execute("SELECT ?", argument), CLOSE) for argument in _ARGUMENTS),
    (execute("SELECT ?"), CLOSE),
    (execute("SELECT ?", TEXT, TEXT), CLOSE),
    (execute("SELECT :a", named_args=[NAMED]), CLOSE),
    (execute("SELECT @a, :b", named_args=[NAMED, NAMED | {"name": "b"}]), CLOSE),
    (store(1, "SELECT 1"), stored(1), {"type": "close_sql", "sql_id": 1}, store(1, "SELECT 2"), stored(1), CLOSE),
    # The stream's end.
    (CLOSE, CLOSE),
    (CLOSE, execute("SELECT 1")),
    (execute("SELECT 1"),),
    ({"type": "nonsense"}, CLOSE),
    # Batches and sequences, whose statements end at the semicolons that end them.
    (batch(step("SELECT 1"), step("SELECT 2", {"type": "or", "conds": [ok(0), ok(9)]})), CLOSE),
    (batch(step("SELECT 1"), step("SELECT 2", ok(0)), step("SELECT 3", {"type": "not", "cond": ok(0)})), CLOSE),
    (batch(step("SELECT nope"), step("SELECT 2", ok(0)), step("SELECT 3", failed(0)), step("SELECT 4", ok(1))), CLOSE),
    (AUTOCOMMIT, execute("BEGIN"), AUTOCOMMIT, execute("COMMIT"), AUTOCOMMIT, CLOSE),
    (*TABLE, sequence("INSERT INTO t (n) VALUES ('s'); SELECT nope"), execute("SELECT count(*) FROM t"), CLOSE),
    (sequence("SELECT 'it''s; fine' -- ; \n; SELECT /* ; */ 2"), execute("SELECT 'never ends; "), CLOSE),
    (
        sequence("CREATE TABLE IF NOT EXISTS b (a); CREATE TRIGGER IF NOT EXISTS r AFTER INSERT ON b BEGIN "
                 "SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b; END; INSERT INTO b VALUES (1)"),
        execute("SELECT count(*) FROM b"), execute("DROP TABLE b"), CLOSE,
    ),
)  # fmt: skip
BODIES = ("", "{", "[]", "{}", '{"requests": {}}', '{"baton": "unknown", "requests": []}')
BATCHES: tuple[list[Request], ...] = (
    [step("SELECT 1 AS a UNION SELECT 2"), step("SELECT nope"), step("SELECT 3", ok(1)), step("SELECT 4", failed(1))],
    [step("CREATE TABLE k (a)"), step("INSERT INTO k VALUES (1)"), step("UPDATE k SET a = 2"), step("DROP TABLE k")],
)
