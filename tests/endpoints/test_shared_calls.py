"""Calls that several endpoints share."""

import asyncio
import gc
from datetime import UTC, datetime, timedelta
from weakref import WeakSet

import pytest

from exporter.collectors.endpoints import shared_calls
from exporter.collectors.endpoints.shared_calls import SharedCalls
from exporter.platform.api.document import Document
from exporter.platform.errors import Forbidden
from exporter.platform.operation import Answer

NOW = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)


class Things:
    """Calls of a path that so many endpoints read; each waits until the test releases it, and answers its number."""

    def __init__(self, readers: int, *, released: bool = True) -> None:
        self._shared = SharedCalls({"/things": readers})
        self.made = 0
        self.go, self.begun = asyncio.Event(), asyncio.Event()
        self.refuses = False
        self.documents = WeakSet[Document]()
        if released:
            self.go.set()

    async def _call(self) -> Answer[Document]:
        self.made += 1
        number = self.made
        self.begun.set()
        await self.go.wait()
        if self.refuses:
            raise Forbidden("no", status=403)
        document = Document.model_validate(number)
        self.documents.add(document)
        return Answer(document, NOW, b"1")

    async def ask(self, reader: str, after: float = 0, account: str = "main") -> int:
        """Return the answer that a reader gets a number of seconds after `NOW`."""
        asked = self._shared.ask(
            reader, "/things", (account, "/things"), now=NOW + timedelta(seconds=after), interval=600, call=self._call
        )
        return int((await asked).value.value)

    async def ask_both(self) -> tuple["asyncio.Task[int]", "asyncio.Task[int]"]:
        """Return two readers' questions, of which the second waits for the first one's call."""
        first = asyncio.create_task(self.ask("a"))
        await self.begun.wait()
        second = asyncio.create_task(self.ask("b"))
        await asyncio.sleep(0)
        return first, second


async def test_who_asks_while_a_call_is_under_way_waits_for_it() -> None:
    things = Things(2, released=False)
    first, second = await things.ask_both()
    things.go.set()
    assert (await first, await second, things.made) == (1, 1, 1)
    gc.collect()
    assert not things.documents, "an answer that all have read is not kept"
    assert await things.ask("b") == 2


async def test_an_answer_serves_each_reader_once_and_for_half_its_interval() -> None:
    things = Things(4)
    asked = (("a", 0), ("b", 0), ("c", 300), ("d", 301), ("a", 302), ("a", 303))
    assert [await things.ask(reader, after) for reader, after in asked] == [1, 1, 1, 2, 2, 3]


async def test_a_path_of_one_endpoint_is_asked_each_time() -> None:
    things = Things(1)
    assert [await things.ask("a"), await things.ask("a")] == [1, 2]


async def test_who_waits_for_a_call_that_is_given_up_makes_its_own() -> None:
    things = Things(2, released=False)
    first, second = await things.ask_both()
    first.cancel()
    things.go.set()
    assert await second == 2
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_who_gives_up_waiting_leaves_the_call_to_the_others() -> None:
    things = Things(2, released=False)
    first, second = await things.ask_both()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    things.go.set()
    assert await first == 1


async def test_answers_that_wait_for_others_take_so_much_memory_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_calls, "MOST_WAITING", 1)
    things = Things(2)
    asked = (("a", "main"), ("a", "other"), ("b", "other"), ("b", "main"))
    assert [await things.ask(reader, account=account) for reader, account in asked] == [1, 2, 2, 3]


async def test_a_failure_is_not_kept() -> None:
    things = Things(2)
    things.refuses = True
    with pytest.raises(Forbidden):
        await things.ask("a")
    things.refuses = False
    assert await things.ask("b") == 2
