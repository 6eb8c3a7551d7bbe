"""Calls that several endpoints share."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from exporter.collectors.endpoints import shared_calls
from exporter.collectors.endpoints.shared_calls import SharedCalls
from exporter.platform.api.document import Document
from exporter.platform.errors import Forbidden
from exporter.platform.operation import Answer

NOW = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
KEY = ("main", "/things")


class Calls:
    """Counts calls; each waits until the test releases it."""

    def __init__(self) -> None:
        self.made = 0
        self.go = asyncio.Event()
        self.begun = asyncio.Event()

    async def __call__(self) -> Answer[Document]:
        """Answer with the number of calls."""
        self.made += 1
        number = self.made
        self.begun.set()
        await self.go.wait()
        return Answer(Document.model_validate(number), NOW, b"1")


async def ask(
    shared: SharedCalls, reader: str, call: Callable[[], Awaitable[Answer[Document]]], after: float = 0
) -> int:
    """Return the answer that a reader gets a number of seconds after `NOW`."""
    now = NOW + timedelta(seconds=after)
    answer = await shared.ask(reader, "/things", KEY, now=now, interval=600, call=call)
    return int(answer.value.value)


async def test_who_asks_while_a_call_is_under_way_waits_for_it() -> None:
    shared, calls = SharedCalls({"/things": 2}), Calls()
    first = asyncio.create_task(ask(shared, "a", calls))
    await calls.begun.wait()
    second = asyncio.create_task(ask(shared, "b", calls))
    calls.go.set()
    assert (await first, await second, calls.made) == (1, 1, 1)
    assert await ask(shared, "b", calls) == 2, "an answer that all have read is not kept"


async def test_an_answer_serves_each_reader_once_and_for_half_its_interval() -> None:
    shared, calls = SharedCalls({"/things": 3}), Calls()
    calls.go.set()
    assert await ask(shared, "a", calls) == 1
    assert await ask(shared, "b", calls, after=300) == 1
    assert await ask(shared, "c", calls, after=301) == 2
    assert await ask(shared, "a", calls, after=302) == 2
    assert await ask(shared, "a", calls, after=303) == 3


async def test_a_path_of_one_endpoint_is_asked_each_time() -> None:
    shared, calls = SharedCalls({"/things": 1}), Calls()
    calls.go.set()
    assert [await ask(shared, "a", calls), await ask(shared, "a", calls)] == [1, 2]


async def test_who_waits_for_a_call_that_is_given_up_makes_its_own() -> None:
    shared, calls = SharedCalls({"/things": 2}), Calls()
    first = asyncio.create_task(ask(shared, "a", calls))
    await calls.begun.wait()
    second = asyncio.create_task(ask(shared, "b", calls))
    await asyncio.sleep(0)
    first.cancel()
    calls.go.set()
    assert await second == 2
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_who_gives_up_waiting_leaves_the_call_to_the_others() -> None:
    shared, calls = SharedCalls({"/things": 2}), Calls()
    first = asyncio.create_task(ask(shared, "a", calls))
    await calls.begun.wait()
    second = asyncio.create_task(ask(shared, "b", calls))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    calls.go.set()
    assert await first == 1


async def test_answers_that_wait_for_others_take_so_much_memory_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_calls, "MOST_WAITING", 1)
    shared, calls = SharedCalls({"/things": 2}), Calls()
    calls.go.set()
    for account in ("main", "other"):
        await shared.ask("a", "/things", (account, "/things"), now=NOW, interval=600, call=calls)
    assert await ask(shared, "b", calls) == 3, "the oldest answer is given up"


async def test_a_failure_is_not_kept() -> None:
    shared, calls = SharedCalls({"/things": 2}), Calls()
    calls.go.set()

    async def refused() -> Answer[Document]:
        raise Forbidden("no", status=403)

    with pytest.raises(Forbidden):
        await ask(shared, "a", refused)
    assert await ask(shared, "b", calls) == 1
