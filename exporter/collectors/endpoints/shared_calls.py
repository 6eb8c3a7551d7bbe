"""Shares one call among the endpoints that have the same path."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from exporter.platform.api.document import Document
from exporter.platform.errors import PlatformError
from exporter.platform.operation import Answer

# The age up to which an answer serves another endpoint, as a share of its interval. Two endpoints with one interval
# then make one call, in whatever order they are polled.
SHARE = 0.5
# The limit for kept answers that wait for other endpoints, in bytes.
MOST_WAITING = 64 * 1024 * 1024

Key = tuple[str, str]


@dataclass(slots=True)
class _Kept:
    future: "asyncio.Future[Answer[Document]]"
    asked: datetime
    readers: set[str] = field(default_factory=set)
    size: int = 0


class SharedCalls:
    """Keeps an answer until every endpoint with its path has read it, or it is too old.

    Args:
        readers: path template → the number of endpoints that request it. Answers of other paths are not kept.
    """

    def __init__(self, readers: dict[str, int]) -> None:
        self._readers = {template: number for template, number in readers.items() if number > 1}
        self._kept: dict[Key, _Kept] = {}

    def shares(self, template: str) -> bool:
        """Return whether several endpoints request a path."""
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
        """Return the recent or pending answer of another endpoint; without one, make the call.

        Args:
            reader: the endpoint that needs the answer.
            template: the template of its path.
            key: the account, and the path with its values.
            now: the time of the poll.
            interval: the endpoint's interval in seconds.
            call: makes the call.

        Raises:
            PlatformError: there is no usable answer.
        """
        if not self.shares(template):
            return await call()
        kept = self._kept.get(key)
        if (
            kept is not None
            and reader not in kept.readers
            and (not kept.future.done() or 0 <= (now - kept.asked).total_seconds() <= SHARE * interval)
        ):
            kept.readers.add(reader)
            try:
                return await asyncio.shield(kept.future)
            except asyncio.CancelledError:
                # If the other endpoint's call was cancelled, this poll makes its own call; otherwise this poll itself
                # was.
                if not kept.future.cancelled():
                    raise
            finally:
                self._drop_if_read(key, kept, template)
        future: asyncio.Future[Answer[Document]] = asyncio.get_running_loop().create_future()
        kept = self._kept[key] = _Kept(future, now, {reader})
        try:
            answer = await call()
        except PlatformError as error:
            # Endpoints that wait for this answer fail with the same error; later polls call again.
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
