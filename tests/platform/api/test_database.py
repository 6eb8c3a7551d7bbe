"""SQL over HTTP: values, errors, and a database's description of a statement."""

import json
from typing import Any

import pytest

from exporter.platform.api import database
from exporter.platform.api.database import Cell, Rows
from exporter.platform.errors import PlatformError, StatementError, WrongShape
from tests.platform.callers import caller


def ok(result: object) -> dict[str, Any]:
    return {"type": "ok", "response": {"type": "execute", "result": result}}


def table(columns: list[str], *rows: list[object]) -> dict[str, Any]:
    return ok({"cols": [{"name": name, "decltype": None} for name in columns], "rows": list(rows)})


def failed(message: str, code: str = "SQLITE_ERROR") -> dict[str, Any]:
    return {"type": "error", "error": {"message": message, "code": code}}


CLOSED = {"type": "ok", "response": {"type": "close"}}


def pipeline(*results: object) -> str:
    return json.dumps({"baton": None, "base_url": None, "results": [*results, CLOSED]})


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ({"type": "null"}, None),
        ({"type": "integer", "value": "42"}, 42),
        ({"type": "integer", "value": "-9223372036854775808"}, -(2**63)),
        ({"type": "integer", "value": 42}, 42),
        ({"type": "float", "value": 1.5}, 1.5),
        ({"type": "float", "value": 0}, 0.0),
        ({"type": "text", "value": "x'\n"}, "x'\n"),
        ({"type": "text", "value": ""}, ""),
        ({"type": "blob", "base64": "AAH/"}, b"\x00\x01\xff"),
        ({"type": "blob", "base64": "AAE"}, b"\x00\x01"),
        ({"type": "blob", "base64": ""}, b""),
    ],
)
async def test_a_value_is_what_the_protocol_says(value: object, cell: Cell) -> None:
    answer = await database.execute(caller(pipeline(table(["v"], [value]))), ["SELECT v"])
    assert answer.value == [Rows(("v",), ((cell,),))]


async def test_several_statements_each_have_their_rows_or_their_error() -> None:
    one = table(["n"], [{"type": "integer", "value": "1"}])
    answer = await database.execute(caller(pipeline(one, failed("no such table: x"), ok({}))), ["a", "b", "c"])
    first, second, third = answer.value
    assert (first, third) == (Rows(("n",), ((1,),)), Rows((), ()))
    assert isinstance(second, StatementError)
    assert (str(second), second.error_key, second.reason) == ("no such table: x", "SQLITE_ERROR", "sql")


async def test_a_result_has_all_that_the_protocol_documents() -> None:
    result = table(["n"], [{"type": "null"}])
    result["response"]["result"] |= {
        "affected_row_count": 0,
        "last_insert_rowid": "12",
        "rows_read": 3.0,
        "rows_written": None,
        "query_duration_ms": 0.25,
        "replication_index": "7",
    }
    answer = await database.execute(caller(pipeline(result)), ["a"])
    assert answer.value == [Rows(("n",), ((None,),))]


SHAPES = {
    "no results": '{"results": []}',
    "no list of results": '{"results": null}',
    "neither ok nor an error": pipeline({"type": "ok"}),
    "of an unknown type": pipeline({"type": "maybe", "response": {"result": {"rows": []}}}),
    "a value of an unknown type": pipeline(table(["v"], [{"type": "date", "value": "1"}])),
    "an integer that is none": pipeline(table(["v"], [{"type": "integer", "value": "many"}])),
    "an integer of 5,000 digits": pipeline(table(["v"], [{"type": "integer", "value": "9" * 5000}])),
    "base64 that is none": pipeline(table(["v"], [{"type": "blob", "base64": "\u00e9"}])),
    "base64 with what is none": pipeline(table(["v"], [{"type": "blob", "base64": "!!!!"}])),
    "base64 of an odd length": pipeline(table(["v"], [{"type": "blob", "base64": "A"}])),
    "a row that is too short": pipeline(table(["a", "b"], [{"type": "null"}])),
    "a row that is too long": pipeline(table(["a"], [{"type": "null"}, {"type": "null"}])),
    "a row that is none": pipeline(ok({"cols": [], "rows": [7]})),
}


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES)
async def test_another_shape_is_refused(body: str) -> None:
    with pytest.raises(WrongShape):
        await database.execute(caller(body), ["SELECT v"])


@pytest.mark.parametrize(
    ("described", "reads"),
    [
        ({"params": [], "cols": [], "is_explain": False, "is_readonly": True}, True),
        ({"is_readonly": False}, False),
        ({}, None),
        ({"is_readonly": None}, None),
    ],
)
async def test_a_database_says_whether_a_statement_reads(described: object, reads: bool | None) -> None:  # noqa: FBT001
    asked = caller(pipeline(ok(described)))
    assert await database.is_readonly(asked, "SELECT 1") is reads
    assert asked.calls == [
        ("database_pipeline", {"baton": None, "requests": [{"type": "describe", "sql": "SELECT 1"}, {"type": "close"}]})
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [(pipeline(failed("syntax error")), StatementError), (pipeline(ok({"is_readonly": "perhaps"})), WrongShape)],
)
async def test_a_description_that_cannot_be_had_is_an_error(body: str, kind: type[PlatformError]) -> None:
    with pytest.raises(kind):
        await database.is_readonly(caller(body), "SELECT")
