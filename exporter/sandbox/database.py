"""The databases: real SQL in SQLite behind the pipeline's streams, batons and tokens."""

import asyncio
import shutil
import sqlite3
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from exporter.sandbox import hrana
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import TokenKind
from exporter.sandbox.noise import Noise
from exporter.sandbox.sample_orders import Orders
from exporter.sandbox.sqlite_access import ForbiddenError, SqlError, connect
from exporter.sandbox.stream import Stream

_BATON_SECONDS: Final = 10.0
_REQUEST_SECONDS: Final = 5.0
_MOST_STREAMS: Final = 64


class BatonError(Exception):
    """The baton belongs to no stream, or to an expired one."""


@dataclass(frozen=True, slots=True)
class _Parked:
    """A stream that waits for its next pipeline."""

    stream: Stream
    kind: TokenKind
    until: float


class Database:
    """One database. Its methods are called from the loop; SQL runs in a thread."""

    def __init__(
        self,
        noise: Noise,
        clock: WorldClock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare a database; its file is created when it is first used."""
        self._noise = noise
        self._clock = clock
        self._monotonic = monotonic
        self._orders = Orders(noise)
        self._batons = 0
        self._parked: dict[str, _Parked] = {}
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._keeper: sqlite3.Connection | None = None
        self._path = ""

    @property
    def folder(self) -> Path | None:
        """The folder of the database's file while it is open."""
        return Path(self._path).parent if self._keeper is not None else None

    async def answer(self, pipeline: hrana.Pipeline, kind: TokenKind) -> dict[str, Any]:
        """Execute a pipeline.

        Raises:
            BatonError: the baton is not valid.
            ForbiddenError: a request would write, and the token is read-only.
            ProtocolError: a request violates the protocol; those before it are executed.
        """
        loop = asyncio.get_running_loop()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(2, thread_name_prefix="sandbox-database")
        self._expire()
        parked = None
        if pipeline.baton is not None:
            parked = self._parked.pop(pipeline.baton, None)
            if parked is None:
                raise BatonError
            if parked.kind is not kind:
                parked.stream.close()
                raise BatonError
        stream, results = await loop.run_in_executor(self._pool, self._run, pipeline, kind, parked)
        baton = None if stream.is_closed else self._park(stream, kind)
        return {"baton": baton, "base_url": None, "results": results}

    def close(self) -> None:
        """Close every connection and remove the file; a later use begins with a new one."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        for parked in self._parked.values():
            parked.stream.close()
        self._parked.clear()
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
            shutil.rmtree(Path(self._path).parent, ignore_errors=True)
            self._orders = Orders(self._noise)

    def _run(self, pipeline: hrana.Pipeline, kind: TokenKind, parked: _Parked | None) -> tuple[Stream, list[Any]]:
        with self._lock:
            self._prepare()
        if parked is not None:
            stream = parked.stream
        else:
            connection = connect(self._path, read_only=kind is TokenKind.READ_ONLY)
            stream = Stream(connection, self._monotonic)
        stream.set_deadline(_REQUEST_SECONDS)
        try:
            return stream, [_result(stream, request) for request in pipeline.requests]
        except (hrana.ProtocolError, ForbiddenError):
            stream.close()
            raise

    def _prepare(self) -> None:
        if self._keeper is None:
            folder = tempfile.mkdtemp(prefix="sandbox-database-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._path = str(Path(folder) / "database.sqlite3")
            sqlite3.connect(self._path).close()
            self._keeper = connect(self._path, read_only=False)
            self._keeper.execute("PRAGMA journal_mode=WAL")
            self._keeper.execute("PRAGMA synchronous=OFF")
            self._orders.create(self._keeper)
        try:
            self._orders.refresh(self._keeper, self._clock.now())
        except sqlite3.Error:
            # A client has locked or changed the table: do not update the sample rows.
            return

    def _park(self, stream: Stream, kind: TokenKind) -> str:
        if len(self._parked) >= _MOST_STREAMS:
            oldest = next(iter(self._parked))
            self._parked.pop(oldest).stream.close()
        self._batons += 1
        baton = self._noise.guid(self._batons)
        self._parked[baton] = _Parked(stream, kind, self._monotonic() + _BATON_SECONDS)
        return baton

    def _expire(self) -> None:
        now = self._monotonic()
        for baton in [baton for baton, parked in self._parked.items() if parked.until <= now]:
            self._parked.pop(baton).stream.close()


def _result(stream: Stream, request: hrana.StreamRequest) -> dict[str, Any]:
    try:
        return {"type": "ok", "response": stream.run(request)}
    except SqlError as error:
        return {"type": "error", "error": error.answer()}
