"""The databases: real SQL in SQLite behind the pipeline's streams, batons and tokens."""

import asyncio
import contextlib
import shutil
import sqlite3
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter.sandbox import hrana
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import TokenKind
from exporter.sandbox.noise import Noise
from exporter.sandbox.sql import ForbiddenError, SqlError, connect
from exporter.sandbox.stream import Stream
from exporter.sandbox.timestamps import DAY, iso_naive

_INTERVAL: Final = 300
_KEPT: Final = 30 * DAY
_REGIONS: Final = ("eu", "us", "asia", "oceania")
_REGION, _CUSTOMER, _TOTAL, _SHIPS, _DELAY = range(1, 6)
_FRESH: Final = 30.0
_SCHEMA: Final = """
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    region TEXT NOT NULL,
    customer TEXT NOT NULL,
    total REAL NOT NULL,
    placed TEXT NOT NULL,
    shipped TEXT
)
"""


class Orders:
    """Updates the table `orders` with the world's time: an order every five minutes, for the last thirty days."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self._upto: float | None = None

    def refresh(self, connection: sqlite3.Connection, now: float) -> None:
        """Update the table to the world's time; no-op within thirty seconds of the last update."""
        since = now - _KEPT if self._upto is None else max(self._upto, now - _KEPT)
        if self._upto is not None and now - self._upto < _FRESH:
            return
        new = [self._order(number, now) for number in range(int(since // _INTERVAL) + 1, int(now // _INTERVAL) + 1)]
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            connection.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?, ?)", new)
            waiting = connection.execute("SELECT id FROM orders WHERE shipped IS NULL").fetchall()
            shipped = [(self._shipped(number, now), number) for (number,) in waiting]
            connection.executemany("UPDATE orders SET shipped = ? WHERE id = ?", shipped)
            connection.execute("DELETE FROM orders WHERE placed <= ?", (iso_naive(now - _KEPT),))
        self._upto = now

    def _order(self, number: int, now: float) -> tuple[int, str, str, float, str, str | None]:
        noise = self._noise
        return (
            number,
            noise.choice(_REGIONS, _REGION, number),
            f"customer-{noise.whole(1, 400, _CUSTOMER, number)}",
            round(5 * 60 ** noise.fraction(_TOTAL, number), 2),
            iso_naive(number * _INTERVAL),
            self._shipped(number, now),
        )

    def _shipped(self, number: int, now: float) -> str | None:
        noise = self._noise
        if not noise.chance(0.98, _SHIPS, number):
            return None
        moment = number * _INTERVAL + noise.between(1_800, 1.5 * DAY, _DELAY, number)
        return iso_naive(moment) if moment <= now else None


_BATON_SECONDS: Final = 10.0
_REQUEST_SECONDS: Final = 5.0
_MOST_STREAMS: Final = 64


class _Parked(NamedTuple):
    """A stream that waits for its next pipeline."""

    stream: Stream
    kind: TokenKind
    until: float


class Database:
    """One database. Its methods are called from the loop; SQL runs in a thread."""

    def __init__(self, noise: Noise, clock: WorldClock) -> None:
        """Prepare a database; its file is created when it is first used."""
        self._noise = noise
        self._clock = clock
        self._orders = Orders(noise)
        self._batons = 0
        self._parked: dict[str, _Parked] = {}
        self._lock = threading.Lock()
        self._keeper: sqlite3.Connection | None = None
        self._path = ""

    async def answer(self, pipeline: hrana.Pipeline, kind: TokenKind) -> dict[str, Any]:
        """Execute a pipeline.

        Raises:
            ForbiddenError: a request would write, and the token is read-only.
            ProtocolError: the baton is not valid, or a request violates the protocol; those before it are executed.
        """
        now = self._clock.monotonic()
        for expired in [baton for baton, parked in self._parked.items() if parked.until <= now]:
            self._parked.pop(expired).stream.close()
        resumed = None
        if pipeline.baton is not None:
            parked = self._parked.pop(pipeline.baton, None)
            if parked is not None and parked.kind is not kind:
                parked.stream.close()
            if parked is None or parked.kind is not kind:
                raise hrana.ProtocolError("The baton is invalid, or its stream has expired")
            resumed = parked.stream
        running = asyncio.ensure_future(asyncio.to_thread(self._run, pipeline, kind, resumed))
        try:
            stream, results = await asyncio.shield(running)
        except asyncio.CancelledError:
            # The thread continues, and no one else knows its connection.
            with contextlib.suppress(hrana.ProtocolError, ForbiddenError):
                (await running)[0].close()
            raise
        baton = None if stream.is_closed else self._park(stream, kind)
        return {"baton": baton, "base_url": None, "results": results}

    def close(self) -> None:
        """Close every connection and remove the file; a later use begins with a new one."""
        for parked in self._parked.values():
            parked.stream.close()
        self._parked.clear()
        with self._lock:
            if self._keeper is not None:
                self._keeper.close()
                self._keeper = None
                shutil.rmtree(Path(self._path).parent, ignore_errors=True)
                self._orders = Orders(self._noise)

    def _run(self, pipeline: hrana.Pipeline, kind: TokenKind, stream: Stream | None) -> tuple[Stream, list[Any]]:
        with self._lock:
            self._prepare()
        if stream is None:
            stream = Stream(connect(self._path, read_only=kind is TokenKind.READ_ONLY), self._clock.monotonic)
        stream.set_deadline(_REQUEST_SECONDS)
        results: list[dict[str, Any]] = []
        try:
            for request in pipeline.requests:
                try:
                    results.append({"type": "ok", "response": stream.run(request)})
                except SqlError as error:
                    results.append({"type": "error", "error": error.answer()})
            return stream, results
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
            self._keeper.execute(_SCHEMA)
        # If a client has locked or changed the table, the sample rows are not updated.
        with contextlib.suppress(sqlite3.Error):
            self._orders.refresh(self._keeper, self._clock.now())

    def _park(self, stream: Stream, kind: TokenKind) -> str:
        if len(self._parked) >= _MOST_STREAMS:
            oldest = next(iter(self._parked))
            self._parked.pop(oldest).stream.close()
        self._batons += 1
        baton = self._noise.guid(self._batons)
        self._parked[baton] = _Parked(stream, kind, self._clock.monotonic() + _BATON_SECONDS)
        return baton
