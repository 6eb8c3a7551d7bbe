"""The collectors of databases: whether they answer, and the gauges that users define by SQL."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from exporter.collectors.collector import Polled
from exporter.collectors.database import (
    COLLECTOR,
    DatabaseQuery,
    QueryCollector,
    SqlQuery,
    is_single,
    leads_with_reading,
)
from exporter.platform.errors import (
    Forbidden,
    NotFound,
    NotJson,
    PlatformError,
    Refused,
    Rejected,
    ServerError,
    StatementError,
    Unauthorized,
    WrongShape,
)
from exporter.targets.target import Target
from tests.collectors.polls import assert_as_in_file, context_of, exposed, poll
from tests.platform.callers import ScriptedCaller

DATABASE = Target("", "database", "orders", "orders")
SQL = "SELECT region, tier, count(*) AS value FROM orders GROUP BY region, tier"


def query(
    sql: str = SQL, *, labels: tuple[str, ...] = ("region", "tier"), value: str = "value", rows: int = 1000
) -> DatabaseQuery:
    one = SqlQuery(name="open", help="Orders not yet shipped.", sql=sql, value=value, labels=labels, max_rows=rows)
    return DatabaseQuery("orders", one, 60.0)


def cell(value: object) -> dict[str, object]:
    match value:
        case None:
            return {"type": "null"}
        case dict():
            return value
        case bytes():
            return {"type": "blob", "base64": "AAE"}
        case int():
            return {"type": "integer", "value": str(value)}
        case float():
            return {"type": "float", "value": value}
        case _:
            return {"type": "text", "value": value}


def answer(*results: object) -> str:
    return json.dumps({"baton": None, "results": [*results, {"type": "ok", "response": {"type": "close"}}]})


def ok(kind: str, result: object) -> dict[str, Any]:
    return {"type": "ok", "response": {"type": kind, "result": result}}


def failed(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"message": message, "code": "SQLITE_ERROR"}}


def table(columns: Sequence[str], *rows: Sequence[object]) -> str:
    cols = [{"name": name, "decltype": None} for name in columns]
    return answer(ok("execute", {"cols": cols, "rows": [[cell(value) for value in row] for row in rows]}))


READS = answer(ok("describe", {"is_readonly": True}))
WRITES = answer(ok("describe", {"is_readonly": False}))


async def asked(one: DatabaseQuery, *answers: str | PlatformError | None) -> Polled:
    return await poll(QueryCollector([one]), one.target(), *answers)


async def result_of(one: DatabaseQuery, columns: Sequence[str], *rows: Sequence[object]) -> list[str]:
    """Return the samples of a query's own family."""
    collector = QueryCollector([one])
    exposition = exposed(collector, await poll(collector, one.target(), READS, table(columns, *rows)))
    return [line for line in exposition.splitlines() if line.startswith("edge_database_open")]


async def refusal(one: DatabaseQuery, columns: Sequence[str], *rows: Sequence[object]) -> str:
    """Return why a query's result is refused."""
    with pytest.raises(WrongShape) as caught:
        await asked(one, READS, table(columns, *rows))
    return str(caught.value)


async def test_a_database_that_answers() -> None:
    polled = await poll(COLLECTOR, DATABASE, table(["1"], [1]))
    assert polled.outcomes[0].error is None
    assert COLLECTOR.wants(DATABASE)


@pytest.mark.parametrize(
    "fault",
    [Refused("nobody there"), Unauthorized("401", status=401), NotJson("HTML", status=200)],
    ids=lambda fault: fault.reason,
)
async def test_a_database_that_does_not_answer_is_both_a_failure_and_a_0(fault: PlatformError) -> None:
    polled = await poll(COLLECTOR, DATABASE, fault)
    assert_as_in_file(exposed(COLLECTOR, polled), "database_down")
    assert polled.outcomes[0].error is fault


async def test_a_database_that_answers_with_an_sql_error_is_down() -> None:
    polled = await poll(COLLECTOR, DATABASE, answer(failed("disk I/O error")))
    assert_as_in_file(exposed(COLLECTOR, polled), "database_down")
    assert str(polled.outcomes[0].error) == "disk I/O error"


async def test_a_query() -> None:
    one = query()
    rows = table(
        ["region", "tier", "value"], ["us", "pro", 12], ["eu", "free", 4.5], ["eu", None, "7"], ["ap", "pro", None]
    )
    collector = QueryCollector([one])
    polled = await poll(collector, one.target(), READS, rows)
    assert_as_in_file(exposed(collector, polled), "database_queries_two_labels")


async def test_a_query_without_labels_is_one_sample() -> None:
    assert await result_of(query(labels=()), ["value", "other"], [3, "x"]) == [
        'edge_database_open{database="orders"} 3.0'
    ]


async def test_rows_come_out_in_a_steady_order() -> None:
    one = query(labels=("region",))
    there = await result_of(one, ["region", "value"], ["b", 1], ["a", 2])
    back = await result_of(one, ["value", "region"], [2, "a"], [1, "b"])
    assert there == back


async def test_a_query_without_rows_has_no_samples_and_is_no_failure() -> None:
    assert await result_of(query(), ["region", "tier", "value"]) == []


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, "7.0"),
        (-1.5, "-1.5"),
        ("42", "42.0"),
        (" 1e3 ", "1000.0"),
        ("-.5", "-0.5"),
        (2**62, "4.611686018427388e+18"),
    ],
)
async def test_what_is_a_number_is_a_value(value: object, number: str) -> None:
    assert await result_of(query(labels=()), ["value"], [value]) == [
        f'edge_database_open{{database="orders"}} {number}'
    ]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("many", "row 1: value is text that is not a number"),
        ("", "row 1: value is text that is not a number"),
        ("nan", "row 1: value is text that is not a number"),
        ("inf", "row 1: value is text that is not a number"),
        ("1_000", "row 1: value is text that is not a number"),
        ("0x10", "row 1: value is text that is not a number"),
        ("\uff14\uff12", "row 1: value is text that is not a number"),
        (b"x", "row 1: value is a blob, not a number"),
    ],
)
async def test_what_is_no_number_is_a_failure_of_the_query(value: object, why: str) -> None:
    assert await refusal(query(labels=()), ["value"], [value]) == why


@pytest.mark.parametrize("value", ["1e999", "-1e999", 10**400, math.inf, {"type": "float", "value": None}])
async def test_a_value_that_is_infinite_loses_its_row_and_no_other(value: object) -> None:
    rows = (["us", "pro", 12], ["eu", "pro", value], ["ap", "pro", 3])
    assert await result_of(query(), ["region", "tier", "value"], *rows) == [
        'edge_database_open{database="orders",region="ap",tier="pro"} 3.0',
        'edge_database_open{database="orders",region="us",tier="pro"} 12.0',
    ]


async def test_each_failure_of_a_result_says_what_is_wrong() -> None:
    columns = ["region", "tier", "value"]
    assert await refusal(query(), ["region", "count(*)"]) == (
        "the query returned no column named value, tier; its columns are: region, count(*)"
    )
    assert await refusal(query(), []) == "the query returned no column named value, region, tier; its columns are: none"
    assert await refusal(query(), [*columns, "value"]) == "the query returned more than one column named value"
    assert await refusal(query(), columns, ["eu", "pro", 1], ["eu", "pro", 2]) == (
        "row 2 has the same labels as another row: region='eu', tier='pro'"
    )
    assert await refusal(query(labels=()), ["value"], [1], [2]) == (
        "row 2 has the same labels as another row: no labels at all"
    )
    assert await refusal(query(rows=2), columns, *[["eu", str(tier), 1] for tier in range(3)]) == (
        "the query returned more rows than max_rows (2)"
    )


async def test_as_many_rows_as_allowed_are_fine() -> None:
    rows = [["eu", str(tier), tier] for tier in range(1000)]
    assert len(await result_of(query(), ["region", "tier", "value"], *rows)) == 1000


async def test_label_values_are_text_whatever_they_were() -> None:
    one = query(labels=("region",))
    found = await result_of(one, ["region", "value"], [1, 1], [1.5, 2], [None, 3], ['a"b\\c\nd', 4], [b"", 5])
    assert found == [
        'edge_database_open{database="orders",region=""} 3.0',
        'edge_database_open{database="orders",region="1"} 1.0',
        'edge_database_open{database="orders",region="1.5"} 2.0',
        r'edge_database_open{database="orders",region="a\"b\\c\nd"} 4.0',
        'edge_database_open{database="orders",region="\N{REPLACEMENT CHARACTER}\x01"} 5.0',
    ]


async def test_labels_that_are_alike_after_they_are_cleaned_are_duplicates() -> None:
    assert (await refusal(query(labels=("region",)), ["region", "value"], ["a\0", 1], ["a\ufffd", 2])).startswith(
        "row 2"
    )


async def test_an_sql_error_is_the_querys_own_failure() -> None:
    with pytest.raises(StatementError, match="no such table: orders"):
        await asked(query(), READS, answer(failed("no such table: orders")))


@pytest.mark.parametrize("answers", [[Forbidden("no", status=403)], [READS, Forbidden("no", status=403)]])
async def test_a_query_that_the_token_refuses_says_so(answers: list[str | PlatformError]) -> None:
    with pytest.raises(Forbidden, match="the token may not run this query: no"):
        await asked(query(), *answers)


@pytest.mark.parametrize("sql", ["DELETE FROM orders", "SELECT 1; DELETE FROM orders", "SELECT writefile('x', 1)"])
async def test_what_writes_by_the_databases_word_is_not_run(sql: str) -> None:
    caller = ScriptedCaller([WRITES])
    with pytest.raises(StatementError):
        await QueryCollector([query(sql)]).poll(context_of(caller, query(sql).target()), query(sql).target())
    assert [arguments["requests"][0]["type"] for _, arguments in caller.calls if "execute" in str(arguments)] == []


async def test_what_reads_by_the_databases_word_is_run_whatever_it_begins_with() -> None:
    polled = await asked(
        query("PRAGMA user_version", labels=(), value="user_version"), READS, table(["user_version"], [3])
    )
    assert len(polled.outcomes[0].families) == 4


NO_DESCRIBE: list[str | PlatformError] = [
    Rejected("unknown request type", status=400),
    NotFound("404", status=404),
    NotJson("HTML", status=200),
    answer(failed("describe is not supported")),
    answer(ok("describe", {})),
    answer({"type": "ok", "response": {"type": "describe"}}),
]


@pytest.mark.parametrize("described", NO_DESCRIBE, ids=str)
async def test_where_a_database_has_no_word_the_keyword_decides(described: str | PlatformError) -> None:
    polled = await asked(query(), described, table(["region", "tier", "value"]))
    assert polled.outcomes[0].error is None
    with pytest.raises(StatementError, match="the query must only read"):
        await asked(query("UPDATE orders SET value = 1"), described)


@pytest.mark.parametrize("fault", [ServerError("500", status=500), Refused("no"), Unauthorized("401", status=401)])
async def test_a_database_that_has_no_word_now_is_asked_again(fault: PlatformError) -> None:
    one = query(labels=())
    collector = QueryCollector([one])
    caller = ScriptedCaller([fault, READS, table(["value"], [1])])
    with pytest.raises(type(fault)):
        await collector.poll(context_of(caller, one.target()), one.target())
    await collector.poll(context_of(caller, one.target()), one.target())
    assert [arguments["requests"][0]["type"] for _, arguments in caller.calls] == ["describe", "describe", "execute"]


async def test_a_database_is_asked_once_about_each_query() -> None:
    one = query(labels=())
    elsewhere = DatabaseQuery("stock", one.query, 60.0)
    collector = QueryCollector([one, elsewhere])
    caller = ScriptedCaller([READS, table(["value"], [1]), table(["value"], [1]), READS, table(["value"], [1])])
    for target in (one.target(), one.target(), elsewhere.target()):
        await collector.poll(context_of(caller, target), target)
    kinds = [arguments["requests"][0]["type"] for _, arguments in caller.calls]
    assert kinds == ["describe", "execute", "execute", "describe", "execute"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "  select 1;",
        "-- a comment; with a semicolon\nSELECT 1",
        "/* ; */ SELECT ';' AS a, \"b;\" FROM [c;d] ; ",
        "SELECT 'it''s; fine'",
        "",
    ],
)
def test_one_statement_is_single(sql: str) -> None:
    assert is_single(sql)


@pytest.mark.parametrize(
    "sql", ["SELECT 1; SELECT 2", "SELECT 1; -- x\nDELETE FROM a", "SELECT 'a;b'; DROP TABLE a", "SELECT 'a; b"]
)
def test_more_than_one_statement_is_not(sql: str) -> None:
    assert not is_single(sql)


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("SELECT 1", True),
        ("\n -- x\n /* y */ select 1", True),
        ("VALUES (1)", True),
        ("EXPLAIN QUERY PLAN SELECT 1", True),
        ("EXPLAIN DELETE FROM a", True),
        ("EXPLAIN PRAGMA journal_mode = WAL", False),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("WITH a AS (SELECT replace(b, 'x', 'y') FROM c) SELECT * FROM a", True),
        ("WITH a AS (SELECT 'delete' AS x, \"update\" FROM c) SELECT * FROM a", True),
        ("WITH a AS (SELECT 1) DELETE FROM b", False),
        ("WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a", False),
        ("with a as (select 1) REPLACE INTO b SELECT * FROM a", False),
        ("WITH a AS (SELECT 1) UPDATE b SET c = 1", False),
        ("SELECTED", False),
        ("PRAGMA user_version", False),
        ("INSERT INTO a VALUES (1)", False),
        ("DELETE FROM a -- SELECT", False),
        ("/* SELECT", False),
        ("", False),
    ],
)
def test_the_leading_keyword_tells_whether_a_statement_reads(sql: str, reads: bool) -> None:  # noqa: FBT001
    assert leads_with_reading(sql) is reads


def test_a_query_is_a_family_and_a_target() -> None:
    one = query()
    assert (one.query.info.name, one.query.info.labels) == ("edge_database_open", ("database", "region", "tier"))
    assert (one.target().key.label, one.target().interval) == ("query/orders/open", 60.0)
    collector = QueryCollector([one])
    assert (collector.wants(one.target()), collector.wants(Target("", "query", "orders/other"))) == (True, False)
