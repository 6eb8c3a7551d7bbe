"""Answers that several endpoints read: endpoints with one path share the call."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from exporter.platform.api.document import Document
from exporter.platform.errors import PlatformError
from exporter.platform.operation import Answer

# An answer serves the other endpoints for this share of their interval: two endpoints of one interval then make one
# call, whichever of them is polled first.
SHARE = 0.5
# Bodies of answers that wait for other endpoints, in bytes.
MOST_WAITING = 64 * 1024 * 1024

Key = tuple[str, str]


@dataclass(slots=True)
class _Kept:
    future: "asyncio.Future[Answer[Document]]"
    asked: datetime
    readers: set[str] = field(default_factory=set)
    size: int = 0


class SharedCalls:
    """Keeps an answer until each endpoint of its path has read it, or it is too old for them.

    Args:
        readers: template of the path → how many endpoints ask for it. Answers of other paths are not kept.
    """

    def __init__(self, readers: dict[str, int]) -> None:
        self._readers = {template: number for template, number in readers.items() if number > 1}
        self._kept: dict[Key, _Kept] = {}

    def shares(self, template: str) -> bool:
        """Whether several endpoints ask for a path."""
        return template in self._readers

    async def ask(
        self,
        reader: str,
        template: str,
        key: Key,
        *,
        now: datetime,
        interval: float,
        call: Callable[[], Awaitable[Answer[Document]]],
    ) -> Answer[Document]:
        """Return the answer that another endpoint got a short while ago or is waiting for, or call.

        Args:
            reader: the endpoint that asks.
            template: the template of its path.
            key: the account and the path as it is asked.
            now: the time of the poll.
            interval: the endpoint's interval in seconds.
            call: makes the call.

        Raises:
            PlatformError: there is no usable answer.
        """
        if not self.shares(template):
            return await call()
        kept = self._kept.get(key)
        if kept is not None and reader not in kept.readers and self._serves(kept, now, interval):
            kept.readers.add(reader)
            try:
                return await asyncio.shield(kept.future)
            except asyncio.CancelledError:
                # Either this poll has ended, or the one that made the call: then this one makes its own.
                if not kept.future.cancelled():
                    raise
            finally:
                self._drop_if_read(key, kept, template)
        return await self._call(reader, template, key, now, call)

    @staticmethod
    def _serves(kept: _Kept, now: datetime, interval: float) -> bool:
        return not kept.future.done() or 0 <= (now - kept.asked).total_seconds() <= SHARE * interval

    async def _call(
        self, reader: str, template: str, key: Key, now: datetime, call: Callable[[], Awaitable[Answer[Document]]]
    ) -> Answer[Document]:
        future: asyncio.Future[Answer[Document]] = asyncio.get_running_loop().create_future()
        kept = self._kept[key] = _Kept(future, now, {reader})
        try:
            answer = await call()
        except asyncio.CancelledError:
            self._forget(key, kept)
            future.cancel()
            raise
        except PlatformError as error:
            # Endpoints that wait for it have the same failure; later ones call again.
            self._forget(key, kept)
            future.set_exception(error)
            future.exception()
            raise
        except BaseException:
            self._forget(key, kept)
            future.cancel()
            raise
        kept.size = len(answer.raw)
        future.set_result(answer)
        self._drop_if_read(key, kept, template)
        self._drop_oldest()
        return answer

    def _drop_if_read(self, key: Key, kept: _Kept, template: str) -> None:
        if kept.future.done() and len(kept.readers) >= self._readers[template]:
            self._forget(key, kept)

    def _drop_oldest(self) -> None:
        waiting = [(key, kept) for key, kept in self._kept.items() if kept.future.done()]
        total = sum(kept.size for _, kept in waiting)
        for key, kept in waiting:
            if total <= MOST_WAITING:
                return
            total -= kept.size
            self._forget(key, kept)

    def _forget(self, key: Key, kept: _Kept) -> None:
        if self._kept.get(key) is kept:
            del self._kept[key]
