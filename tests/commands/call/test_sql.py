"""SQL from the command line: which statements certainly only read, and rows as JSON."""

from typing import Any

import pytest

from exporter.commands.call.sql import as_json, pipeline_reads, reads
from exporter.platform.api.database import Rows
from exporter.platform.errors import StatementError


@pytest.mark.parametrize("sql", ["SELECT 1", " values (1);", "WITH a AS (SELECT 1) SELECT * FROM a", "-- x\nselect 1"])
def test_a_query_reads(sql: str) -> None:
    assert reads(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO a VALUES (1)",
        "SELECT 1; DROP TABLE a",
        "PRAGMA user_version = 2",
        "WITH a AS (SELECT 1) DELETE FROM b",
    ],
)
def test_what_does_not_surely_read_may_write(sql: str) -> None:
    assert not reads(sql)


@pytest.mark.parametrize(
    ("request_", "is_reading"),
    [
        ({"type": "close"}, True),
        ({"type": "describe", "sql": "DROP TABLE a"}, True),
        ({"type": "execute", "stmt": {"sql": "SELECT 1"}}, True),
        ({"type": "execute", "stmt": {"sql": "DROP TABLE a"}}, False),
        ({"type": "execute", "stmt": {"sql_id": 1}}, False),
        ({"type": "execute", "stmt": None}, False),
        ({"type": "batch", "batch": {"steps": []}}, False),
        ({"type": "sequence", "sql": "SELECT 1"}, False),
        ("close", False),
    ],
)
def test_a_pipeline_reads_if_all_of_its_requests_surely_do(request_: Any, is_reading: bool) -> None:  # noqa: FBT001
    assert pipeline_reads([request_]) is is_reading
    assert pipeline_reads([request_, {"type": "batch"}]) is False


def test_rows_become_lists_and_blobs_base64() -> None:
    rows = Rows(("a", "b"), ((None, 9007199254740993), (1.5, b"\x00\xff"), ("x", "")))
    assert as_json(rows) == {
        "columns": ["a", "b"],
        "rows": [[None, 9007199254740993], [1.5, {"base64": "AP8="}], ["x", ""]],
    }


def test_a_failed_statement_becomes_its_error() -> None:
    found = as_json(StatementError("no such table: a", error_key="SQLITE_ERROR"))
    assert found == {"error": {"message": "no such table: a", "code": "SQLITE_ERROR"}}
