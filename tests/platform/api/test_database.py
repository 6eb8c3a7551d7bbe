"""SQL over HTTP: `database.txt` has what is read from each answer to statements, and to a request to describe one."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.platform.api import sql_over_http
from exporter.platform.errors import PlatformError, StatementError
from tests.golden import assert_golden
from tests.platform.callers import caller
from tests.platform.clients import answered, good


def ok(result: object) -> dict[str, Any]:
    return {"type": "ok", "response": {"type": "execute", "result": result}}


def table(columns: str, *rows: object, **more: object) -> dict[str, Any]:
    return ok({"cols": [{"name": name, "decltype": None} for name in columns.split()], "rows": list(rows), **more})


def value(kind: str, value: object) -> dict[str, Any]:
    return table("v", [{"type": kind, "base64" if kind == "blob" else "value": value}])


def failed(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"message": message, "code": "SQLITE_ERROR"}}


NULL = {"type": "null"}
DOCUMENTED = {
    "affected_row_count": 0, "last_insert_rowid": "12", "rows_read": 3.0, "rows_written": None,
    "query_duration_ms": 0.25, "replication_index": "7",
}  # fmt: skip
VALUES = {
    "integer": ("42", "-9223372036854775808", 42, "many", "9" * 5000), "float": (1.5, 0), "text": ("x'\n", ""),
    "blob": ("AAH/", "AAE", "", "\u00e9", "!!!!", "A"), "date": ("1",),
}  # fmt: skip
# The results of the statements, or the whole body.
ANSWERS: dict[str, list[object] | str] = {
    **{f"{kind} {one!r:.25}": [value(kind, one)] for kind, ones in VALUES.items() for one in ones},
    "null": [table("v", [NULL])],
    "several statements": [table("n", [NULL]), failed("no such table: x"), ok({})],
    "all that the protocol documents": [table("n", [NULL], **DOCUMENTED)],
    "no results": '{"results": []}',
    "no list of results": '{"results": null}',
    "neither ok nor an error": [{"type": "ok"}],
    "of an unknown type": [{"type": "maybe", "response": {"result": {"rows": []}}}],
    "a row that is too short": [table("a b", [NULL])],
    "a row that is too long": [table("a", [NULL, NULL])],
    "a row that is none": [table("", 7)],
}
DESCRIPTIONS: dict[str, object] = {
    "reads": ok({"params": [], "cols": [], "is_explain": False, "is_readonly": True}),
    "writes": ok({"is_readonly": False}),
    "does not say": ok({}),
    "says null": ok({"is_readonly": None}),
    "says perhaps": ok({"is_readonly": "perhaps"}),
    "a failure": failed("syntax error"),
}


async def test_answers_of_a_database_are_read_or_refused() -> None:
    lines = []
    for words, results in {**ANSWERS, **DESCRIPTIONS}.items():
        closed = {"type": "ok", "response": {"type": "close"}}
        listed = results if isinstance(results, list) else [results]
        body = results if isinstance(results, str) else json.dumps({"baton": None, "results": [*listed, closed]})
        asked = caller(body)
        try:
            if words in DESCRIPTIONS:
                said = str(await sql_over_http.is_readonly(asked, "SELECT 1"))
            else:
                outcomes = (await sql_over_http.execute(asked, ["SELECT v"] * max(1, len(listed)))).value
                said = ", ".join(
                    f"{one.reason} {one.error_key}: {one}" if isinstance(one, StatementError) else str(one)
                    for one in outcomes
                )
        except PlatformError as error:
            said = f"{error.reason}: {error}"
        lines.append(f"{words}: {said:.300}\n")
    lines.append(f"asked to describe: {json.dumps(asked.calls)}\n")
    assert_golden("".join(lines), Path(__file__).parent / "database.txt")


@pytest.mark.parametrize("number", [3000, 3001])
async def test_a_long_answer_is_read_up_to_the_limit_of_its_rows(number: int) -> None:
    body = json.dumps({"results": [table("v", *[[NULL]] * number)]}, indent=1)
    async with answered(good(body)) as (kit, _):
        (rows,) = (await sql_over_http.execute(kit.calls, ["SELECT v"], 3000)).value
    assert isinstance(rows, sql_over_http.Rows)
    assert (len(rows.rows), rows.is_cut) == (3000, number > 3000)
