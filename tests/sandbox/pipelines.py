"""Pipelines to which a libSQL server and the sandbox's database must give the same answers.

Intended differences are not among them: versions and values of the server's own build, the columns of `RETURNING` in
`describe`, parameters with and without a name in one statement, and `describe` of statements that are not supported.
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
    "SELECT 1", "SELECT 1;", "SELECT 1; -- c", "SELECT 1; SELECT 2", "", ";", "-- c", "SELECT 1 AS a, 2 AS a, 3",
    "SELECT 9e999, -9e999", "SELECT 9223372036854775807, 1.0, 1e20, x'', '', NULL, 'ü', '🚀'", "VALUES (1, 2)",
    "SELECT * FROM t", "SELECT v + 1 AS w, n FROM t LIMIT 1", "SELECT max(id) FROM t", "SELECT t.* FROM t, t AS u",
    "WITH x AS (SELECT id FROM t) SELECT id FROM x", "SELECT json_extract('{\"a\": 1}', '$.a')",
    "EXPLAIN QUERY PLAN SELECT * FROM t", "SELECT name FROM sqlite_master WHERE name = 't'",
    "SELECT * FROM pragma_table_info('t')", "SELECT date('now') > '2000'",
)  # fmt: skip
_WRONG = (
    "SELEC", "SELECT nope", "SELECT * FROM nope", "SELECT nofun(1)", "SELECT abs(1, 2)", "SELECT sum(sum(1))",
    "SELECT id FROM t, t AS u", "CREATE TABLE t (a)", "DROP TABLE nope", "SELECT (1", "SELECT 1 1", "SELECT json('{')",
    "INSERT INTO t VALUES (1)", "INSERT INTO t (id) VALUES (1)", "INSERT INTO t (n) VALUES ('bad')",
    "INSERT INTO t (id) VALUES ('x')", "SELECT abs(-9223372036854775808)", "SELECT 1 UNION SELECT 1, 2", "SELECT ?0",
    "SELECT ?99999", "SELECT zeroblob(100000000000)", "COMMIT", "ROLLBACK", "RELEASE nope",
    "ATTACH 'x.db' AS y", "DETACH main", "VACUUM", "VACUUM INTO 'x'", "ANALYZE", "CREATE TEMP TABLE z (a)",
    "CREATE TEMP VIEW z AS SELECT 1", "SELECT load_extension('x')", "ALTER TABLE nope ADD COLUMN a",
    "SELECT '\0'; SELECT 2",
)  # fmt: skip
_PRAGMAS = (
    "foreign_keys", "defer_foreign_keys", "journal_mode", "table_info(t)", "table_xinfo(t)", "index_list(t)",
    "index_xinfo(sqlite_autoindex_t_1)", "index_info(sqlite_autoindex_t_1)", "foreign_key_list(t)",
    "foreign_key_check", "integrity_check", "quick_check", "encoding", "page_size", "freelist_count", "user_version",
    "application_id", "query_only", "recursive_triggers", "cache_size", "auto_vacuum", "main.table_info(t)",
    "cache_size=5", "query_only=1", "journal_mode=DELETE", "synchronous=OFF", "busy_timeout=5", "writable_schema=1",
    "case_sensitive_like=1", "wal_checkpoint", "optimize", "legacy_alter_table=ON", "incremental_vacuum", "nonsense",
)  # fmt: skip
_DESCRIBED = (
    "SELECT * FROM t WHERE id = ? AND n = ?", "SELECT :a, @b, $c, :a", "SELECT ?, ?", "SELECT ?2",
    "SELECT 1, 1 AS a, 2 AS a", "INSERT INTO t (n) VALUES (:n)", "UPDATE t SET v = ?",
    "EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN DELETE FROM t",
    "EXPLAIN DELETE FROM t", "PRAGMA table_info(t)", "PRAGMA user_version", "PRAGMA user_version=4", "BEGIN",
    "BEGIN IMMEDIATE", "COMMIT", "SAVEPOINT a", "DROP TABLE t", "VACUUM", "SELECT nope", "SELECT 1; SELECT 2", "",
    "-- only", "CREATE TABLE u (a)", "CREATE TABLE t (a)", "VALUES (1, 2)", "WITH x AS (SELECT 1 AS a) SELECT a FROM x",
    "WITH x AS (SELECT 1 AS a) DELETE FROM t",
)  # fmt: skip

PIPELINES: tuple[tuple[Request, ...], ...] = (
    *((*TABLE, execute(sql), execute("SELECT 2"), CLOSE) for sql in (*_READING, *_WRONG)),
    *((*TABLE, execute(f"PRAGMA {pragma}"), CLOSE) for pragma in _PRAGMAS),
    *((*TABLE, describe(sql), CLOSE) for sql in _DESCRIBED),
    (execute("PRAGMA foreign_keys=OFF"), execute("PRAGMA foreign_keys"), CLOSE),
    (execute("PRAGMA defer_foreign_keys=ON"), execute("PRAGMA defer_foreign_keys"), CLOSE),
    (execute("PRAGMA user_version=3"), execute("PRAGMA user_version"), execute("PRAGMA user_version=0"), CLOSE),
    (*TABLE, execute("UPDATE t SET v = 2"), execute("DELETE FROM t WHERE id = 99"), execute("DELETE FROM t"), CLOSE),
    (*TABLE, execute("REPLACE INTO t VALUES (7, 'z', 1)"), execute("INSERT OR IGNORE INTO t (id) VALUES (7)"), CLOSE),
    (*TABLE, execute("WITH x AS (SELECT 9 AS i) INSERT INTO t SELECT i, 'w', 1 FROM x"), CLOSE),
    (*TABLE, execute("INSERT INTO t VALUES (1, 'q', 1) ON CONFLICT DO UPDATE SET n = 'u'"), CLOSE),
    (*TABLE, execute("INSERT INTO t (n) SELECT 'm'"), execute("SELECT last_insert_rowid(), changes()"), CLOSE),
    (*TABLE, execute("CREATE VIEW w AS SELECT id FROM t"), execute("SELECT * FROM w"), execute("DROP VIEW w"), CLOSE),
    (*TABLE, execute("CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET v = 1; END"),
     execute("INSERT INTO t (n) VALUES ('tr')"), execute("DROP TRIGGER g"), CLOSE),
    (*TABLE, execute("BEGIN"), execute("BEGIN"), execute("INSERT INTO t (n) VALUES ('q')"), CLOSE),
    (*TABLE, execute("BEGIN"), execute("DELETE FROM t"), execute("ROLLBACK"), execute("SELECT count(*) FROM t"), CLOSE),
    # Arguments.
    *(
        (execute("SELECT ?", argument), CLOSE)
        for argument in (
            TEXT, value("null"), value("integer", "-42"), value("integer", "+5"), value("integer", 5),
            value("integer", "9223372036854775808"), value("integer", ""), value("float", 1.5), value("float", 1),
            value("float", "1"), value("blob", "AP8"), value("blob", "AP8="), value("blob", "A P8="),
            value("blob", "_-8="), value("text"), value("nope"), {},
        )
    ),
    (execute("SELECT ?"), CLOSE),
    (execute("SELECT ?", TEXT, TEXT), CLOSE),
    (execute("SELECT ?2", TEXT), CLOSE),
    (execute("SELECT ?2", TEXT, TEXT), CLOSE),
    (execute("SELECT :a, :b", TEXT, TEXT), CLOSE),
    (execute("SELECT :a", named_args=[NAMED]), CLOSE),
    (execute("SELECT :a", named_args=[NAMED | {"name": ":a"}]), CLOSE),
    (execute("SELECT :a", named_args=[NAMED | {"name": "@a"}]), CLOSE),
    (execute("SELECT @a, :b", named_args=[NAMED, NAMED | {"name": "b"}]), CLOSE),
    (execute("SELECT :a", named_args=[NAMED | {"name": "b"}]), CLOSE),
    (execute("SELECT ?, :a", TEXT, named_args=[NAMED]), CLOSE),
    (execute("SELECT 1", want_rows=False), CLOSE),
    (execute("SELECT 1", unknown=1), CLOSE),
    # Stored texts.
    (store(1, "SELECT 1"), store(1, "SELECT 2"), CLOSE),
    (store(1, "SELECT 1"), stored(1), {"type": "close_sql", "sql_id": 1}, store(1, "SELECT 2"), stored(1), CLOSE),
    (store(1, "SELECT 1"), {"type": "close_sql", "sql_id": 1}, stored(1), CLOSE),
    (store(-1, "SELECT 1"), stored(-1), CLOSE),
    (store(3_000_000_000, "SELECT 1"), CLOSE),
    ({"type": "close_sql", "sql_id": 5}, CLOSE),
    (stored(9), CLOSE),
    (execute("SELECT 1", sql_id=9), CLOSE),
    ({"type": "execute", "stmt": {}}, CLOSE),
    ({"type": "describe", "sql": "SELECT 1", "sql_id": 3}, CLOSE),
    ({"type": "describe"}, CLOSE),
    ({"type": "sequence", "sql_id": 3}, CLOSE),
    ({"type": "sequence"}, CLOSE),
    # The stream's end.
    (CLOSE, CLOSE),
    (CLOSE, execute("SELECT 1")),
    (CLOSE, AUTOCOMMIT),
    (execute("SELECT 1"),),
    (),
    ({"type": "nonsense"}, CLOSE),
    (execute("SELECT 1"), {"type": "execute"}),
    # Batches and sequences.
    (batch(), CLOSE),
    (batch(step("SELECT 1"), step("SELECT 2", ok(5))), CLOSE),
    (batch(step("SELECT 1"), step("SELECT 2", failed(1))), CLOSE),
    (batch(step("SELECT 1", ok(1)), step("SELECT 2")), CLOSE),
    (batch(step("SELECT 1"), step("SELECT 2", {"type": "or", "conds": [ok(0), ok(9)]})), CLOSE),
    (batch(step("SELECT 1", {"type": "nonsense"})), CLOSE),
    (batch(step("SELECT 1"), step("SELECT 2", ok(0)), step("SELECT 3", {"type": "not", "cond": ok(0)})), CLOSE),
    (batch(step("SELECT nope"), step("SELECT 2", ok(0)), step("SELECT 3", failed(0)), step("SELECT 4", ok(1))), CLOSE),
    (batch(step("SELECT 1", {"type": "or", "conds": []}), step("SELECT 2", {"type": "and", "conds": []})), CLOSE),
    (batch(step("SELECT 1", {"type": "is_autocommit"})), CLOSE),
    (AUTOCOMMIT, execute("BEGIN"), AUTOCOMMIT, execute("COMMIT"), AUTOCOMMIT, CLOSE),
    (*TABLE, sequence("INSERT INTO t (n) VALUES ('s'); SELECT 1"), execute("SELECT count(*) FROM t"), CLOSE),
    (*TABLE, sequence("INSERT INTO t (n) VALUES ('s'); SELECT nope"), execute("SELECT count(*) FROM t"), CLOSE),
    (sequence(""), CLOSE),
    # Statements end at the semicolons that end them, and parameters are numbered as SQLite does.
    *(
        (sequence(sql), execute(sql), CLOSE)
        for sql in (
            " ;; -- nothing\n ; /* at all */", "SELECT ';'; SELECT \";\" ; SELECT `;`",
            "SELECT 1 -- ; \n; SELECT /* ; */ 2", "SELECT 'it''s; fine'", "SELECT 'never ends; ",
            "/* EXPLAIN */ SELECT 1",
        )
    ),
    (
        sequence("CREATE TABLE IF NOT EXISTS b (a); CREATE TRIGGER IF NOT EXISTS r AFTER INSERT ON b BEGIN "
                 "SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b; END; INSERT INTO b VALUES (1)"),
        execute("SELECT count(*) FROM b"), execute("DROP TABLE b"), CLOSE,
    ),
)  # fmt: skip
BODIES = (
    "", "{", "[]", "{}", "null", '{"requests": null}', '{"requests": {}}', '{"requests": [], "unknown": 1}',
    '{"baton": "unknown", "requests": []}', '{"baton": 5, "requests": []}',
    '{"requests": [{"type": "execute", "stmt": {"sql": 5}}]}',
    '{"requests": [{"type": "execute", "stmt": {"sql": "SELECT 1", "args": null}}]}',
    '{"requests": [{"type": "store_sql", "sql_id": "1", "sql": "x"}]}',
)  # fmt: skip
BATCHES: tuple[list[Request], ...] = (
    [],
    [step("SELECT 1 AS a UNION SELECT 2"), step("SELECT nope"), step("SELECT 3", ok(1)), step("SELECT 4", failed(1))],
    [step("CREATE TABLE k (a)"), step("INSERT INTO k VALUES (1)"), step("UPDATE k SET a = 2"), step("DROP TABLE k")],
    [step("SELECT 1", ok(4))],
    [step("SELECT 1", {"type": "is_autocommit"})],
    [{"stmt": {}}],
)  # fmt: skip
