"""Streams and limits of a database, with a clock that the test controls."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.sandbox import hrana
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.database import BatonError, Database
from exporter.sandbox.keys import TokenKind
from exporter.sandbox.noise import Noise
from exporter.sandbox.sql import ForbiddenError
from exporter.sandbox.world import World
from tests.sandbox.test_database import CLOSE, execute


class SteppingClock:
    """A monotonic clock that advances by a step each time it is read."""

    def __init__(self, step: float) -> None:
        self.value = 0.0
        self.step = step

    def __call__(self) -> float:
        """Advance, and return the time."""
        self.value += self.step
        return self.value


@pytest.fixture
def stepping_clock() -> SteppingClock:
    return SteppingClock(0.0)


@pytest.fixture
def database(clock: WorldClock, stepping_clock: SteppingClock) -> Iterator[Database]:
    made = Database(Noise(1), clock, monotonic=stepping_clock)
    yield made
    made.close()


def pipeline(*requests: dict[str, Any], baton: str | None = None) -> hrana.Pipeline:
    """Parse a pipeline as the endpoint does."""
    return hrana.PIPELINE.validate_python({"baton": baton, "requests": requests})


FOR_EVER = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM n"


async def test_a_statement_that_never_ends_is_interrupted(database: Database, stepping_clock: SteppingClock) -> None:
    stepping_clock.step = 0.1
    answer = await database.answer(pipeline(execute(FOR_EVER), CLOSE), TokenKind.READ_ONLY)
    assert answer["results"][0]["error"] == {"message": "SQLite error: interrupted", "code": "SQLITE_INTERRUPT"}


async def test_a_long_statement_does_not_delay_other_requests(
    database: Database, stepping_clock: SteppingClock
) -> None:
    long = asyncio.create_task(database.answer(pipeline(execute(FOR_EVER), CLOSE), TokenKind.READ_ONLY))
    quick = await database.answer(pipeline(execute("SELECT 1"), CLOSE), TokenKind.READ_ONLY)
    assert (quick["results"][0]["type"], long.done()) == ("ok", False)
    stepping_clock.step = 0.1
    assert (await long)["results"][0]["type"] == "error"


async def test_a_result_that_is_too_large_is_an_error(database: Database) -> None:
    sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20) SELECT hex(zeroblob(400000)) FROM n"
    answer = await database.answer(pipeline(execute(sql), CLOSE), TokenKind.READ_ONLY)
    assert answer["results"][0]["error"]["code"] == "RESPONSE_TOO_LARGE"


async def test_a_stream_expires_ten_seconds_after_its_last_request(
    database: Database, stepping_clock: SteppingClock
) -> None:
    batons = [(await database.answer(pipeline(execute("SELECT 1")), TokenKind.READ_ONLY))["baton"] for _ in range(2)]
    stepping_clock.value += 9.9
    alive = await database.answer(pipeline(CLOSE, baton=batons[0]), TokenKind.READ_ONLY)
    assert alive["results"][0]["type"] == "ok"
    stepping_clock.value += 0.1
    with pytest.raises(BatonError):
        await database.answer(pipeline(CLOSE, baton=batons[1]), TokenKind.READ_ONLY)


async def test_the_oldest_stream_goes_when_there_are_too_many(database: Database) -> None:
    batons = [(await database.answer(pipeline(), TokenKind.READ_ONLY))["baton"] for _ in range(65)]
    with pytest.raises(BatonError):
        await database.answer(pipeline(CLOSE, baton=batons[0]), TokenKind.READ_ONLY)
    assert (await database.answer(pipeline(CLOSE, baton=batons[1]), TokenKind.READ_ONLY))["baton"] is None


async def test_a_database_that_was_closed_begins_anew(database: Database) -> None:
    await database.answer(pipeline(execute("CREATE TABLE t (a)"), CLOSE), TokenKind.FULL_ACCESS)
    database.close()
    answer = await database.answer(pipeline(execute("SELECT * FROM t"), CLOSE), TokenKind.FULL_ACCESS)
    assert answer["results"][0]["type"] == "error"
    counted = await database.answer(pipeline(execute("SELECT count(*) FROM orders"), CLOSE), TokenKind.FULL_ACCESS)
    assert counted["results"][0]["response"]["result"]["rows"] == [[{"type": "integer", "value": "8640"}]]


async def test_a_forbidden_request_leaves_no_stream(database: Database) -> None:
    baton = (await database.answer(pipeline(), TokenKind.READ_ONLY))["baton"]
    with pytest.raises(ForbiddenError):
        await database.answer(pipeline(execute("DELETE FROM orders"), baton=baton), TokenKind.READ_ONLY)
    with pytest.raises(BatonError):
        await database.answer(pipeline(CLOSE, baton=baton), TokenKind.READ_ONLY)


async def test_the_world_knows_its_databases(world: World) -> None:
    assert world.database() is world.database("orders")
    assert world.database("billing") is not None
    assert world.database("nothing") is None


async def test_orders_are_not_updated_during_a_client_s_transaction(database: Database, clock: WorldClock) -> None:
    async def newest() -> str:
        request = pipeline(execute("SELECT max(placed) FROM orders"), CLOSE)
        answer = await database.answer(request, TokenKind.READ_ONLY)
        value: str = answer["results"][0]["response"]["result"]["rows"][0][0]["value"]
        return value

    assert await newest() == "2026-02-06T12:00:00"
    writer = await database.answer(pipeline(execute("BEGIN IMMEDIATE")), TokenKind.FULL_ACCESS)
    clock.advance(3_600)
    assert await newest() == "2026-02-06T12:00:00"
    await database.answer(pipeline(execute("COMMIT"), CLOSE, baton=writer["baton"]), TokenKind.FULL_ACCESS)
    assert await newest() == "2026-02-06T13:00:00"


async def test_a_table_that_a_client_dropped_is_not_created_again(database: Database, clock: WorldClock) -> None:
    await database.answer(pipeline(execute("DROP TABLE orders"), CLOSE), TokenKind.FULL_ACCESS)
    clock.advance(3_600)
    answer = await database.answer(pipeline(execute("SELECT * FROM orders"), CLOSE), TokenKind.FULL_ACCESS)
    assert answer["results"][0]["error"]["message"] == "SQLite error: no such table: orders"
