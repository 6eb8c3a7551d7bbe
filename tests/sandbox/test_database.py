"""The sandbox's database: access, streams, limits, writes; the golden has answers to statements."""

from itertools import count
from typing import Any

import httpx
import pytest

from exporter.sandbox.keys import DATABASE_TOKEN_FULL, DATABASE_TOKEN_READ_ONLY
from exporter.sandbox.world_clock import WorldClock
from tests.sandbox.conftest import NOON
from tests.turned_clock import TurnedClock

Request = dict[str, Any]

CLOSE: Request = {"type": "close"}
STORED: Request = {"type": "execute", "stmt": {"sql_id": 1}}
FOR_EVER = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM n"


def execute(sql: str) -> Request:
    """Return the request that executes a statement."""
    return {"type": "execute", "stmt": {"sql": sql}}


def store(sql: str) -> Request:
    """Return the request that stores a statement, which `STORED` executes."""
    return {"type": "store_sql", "sql_id": 1, "sql": sql}


class Pipeline:
    """Sends pipelines under a token."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}

    async def post(self, *requests: Request, baton: str | None = None) -> httpx.Response:
        """Send a pipeline and return the answer."""
        body = {"baton": baton, "requests": requests}
        return await self._client.post("/v2/pipeline", json=body, headers=self._headers)

    async def baton(self, *requests: Request) -> str:
        """Send a pipeline, and return the baton of its stream."""
        baton: str = (await self.post(*requests)).json()["baton"]
        return baton

    async def results(self, *requests: Request, baton: str | None = None) -> list[dict[str, Any]]:
        """Send a pipeline that must be answered, and return its results."""
        results: list[dict[str, Any]] = (await self.post(*requests, CLOSE, baton=baton)).json()["results"]
        return results

    async def row(self, sql: str) -> list[str]:
        """Execute one statement and return the values of its first row."""
        executed, _ = await self.results(execute(sql))
        return [value["value"] for value in executed["response"]["result"]["rows"][0]]


@pytest.fixture
def monotonic() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def clock(monotonic: TurnedClock) -> WorldClock:
    return WorldClock(NOON, speed=0.0, monotonic=monotonic)


@pytest.fixture
def full(client: httpx.AsyncClient) -> Pipeline:
    return Pipeline(client, DATABASE_TOKEN_FULL)


@pytest.fixture
def reader(client: httpx.AsyncClient) -> Pipeline:
    return Pipeline(client, DATABASE_TOKEN_READ_ONLY)


async def test_a_stream_goes_on_under_its_baton_and_a_transaction_with_it(full: Pipeline, reader: Pipeline) -> None:
    first = await full.post(
        execute("CREATE TABLE t (a)"),
        {"type": "sequence", "sql": "BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);"},
        {"type": "get_autocommit"},
        store("SELECT sum(a) FROM t"),
    )
    assert first.json()["results"][2]["response"] == {"type": "get_autocommit", "is_autocommit": False}
    assert await reader.row("SELECT count(*) FROM t") == ["0"]
    second = (await full.post(STORED, baton=first.json()["baton"])).json()
    assert second["results"][0]["response"]["result"]["rows"] == [[{"type": "integer", "value": "3"}]]
    third = (await full.post(execute("COMMIT"), CLOSE, CLOSE, baton=second["baton"])).json()
    assert ([result["type"] for result in third["results"]], third["baton"]) == (["ok"] * 3, None)
    assert await reader.row("SELECT count(*) FROM t") == ["2"]


async def test_a_baton_is_good_once_and_for_its_own_kind_of_token(full: Pipeline, reader: Pipeline) -> None:
    baton = await full.baton(execute("CREATE TABLE t (a)"))
    broken = await full.post(execute("INSERT INTO t VALUES (1)"), {"type": "execute", "stmt": {}}, baton=baton)
    assert (broken.status_code, broken.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert (await full.post(CLOSE, baton=baton)).status_code == 400
    assert (await reader.post(CLOSE, baton=await full.baton(execute("SELECT 1")))).status_code == 400
    assert await full.row("SELECT count(*) FROM t") == ["1"]
    # A write under the reading token forbids the whole request, and ends the stream.
    baton = await reader.baton()
    assert (await reader.post(store("DELETE FROM t"), STORED, baton=baton)).status_code == 403
    assert (await reader.post(CLOSE, baton=baton)).status_code == 400


async def test_orders_come_as_the_clock_goes_but_not_during_a_client_s_transaction(
    full: Pipeline, reader: Pipeline, clock: WorldClock
) -> None:
    sql = "SELECT count(*), max(placed), min(placed) FROM orders"
    assert await reader.row(sql) == ["8640", "2026-02-06T12:00:00", "2026-01-07T12:05:00"]
    writer = await full.baton(execute("BEGIN IMMEDIATE"))
    clock.advance(86_400)
    assert (await reader.row(sql))[1] == "2026-02-06T12:00:00"
    await full.results(execute("COMMIT"), baton=writer)
    assert (await reader.row(sql))[:2] == ["8640", "2026-02-07T12:00:00"]
    (shipped,) = await reader.row("SELECT max(shipped) FROM orders")
    assert "2026-02-06T12:00:00" < shipped <= "2026-02-07T12:00:00"


async def test_a_statement_that_takes_too_long_fails_and_the_next_one_runs(reader: Pipeline, clock: WorldClock) -> None:
    clock.monotonic = count(0, 0.1).__next__
    failed, closed = await reader.results(execute(FOR_EVER))
    error = {"message": "SQLite error: interrupted", "code": "SQLITE_INTERRUPT"}
    assert (failed["error"], closed["type"]) == (error, "ok")


async def test_a_stream_expires_ten_seconds_after_its_last_request(reader: Pipeline, monotonic: TurnedClock) -> None:
    batons = [await reader.baton() for _ in range(2)]
    monotonic.now += 9.9
    assert (await reader.post(CLOSE, baton=batons[0])).status_code == 200
    monotonic.now += 0.1
    assert (await reader.post(CLOSE, baton=batons[1])).status_code == 400
