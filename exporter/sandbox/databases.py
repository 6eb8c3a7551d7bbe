"""The databases of the account, with their files and open streams. A client continues a stream by its baton."""

import contextlib
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from exporter.sandbox.hrana import ProtocolError
from exporter.sandbox.keys import TokenKind
from exporter.sandbox.noise import Noise
from exporter.sandbox.orders import Orders
from exporter.sandbox.sql import SqlSession, connect
from exporter.sandbox.streams import Stream
from exporter.sandbox.world_clock import WorldClock

_BATON_SECONDS: Final = 10.0


class _Parked(NamedTuple):
    """A stream that waits for its client's next pipeline."""

    stream: Stream
    kind: TokenKind
    until: float  # on the monotonic clock


class _File:
    """The temporary file of a database, and the connection that updates the sample table."""

    def __init__(self, noise: Noise) -> None:
        self._folder = TemporaryDirectory(prefix="sandbox-database-", ignore_cleanup_errors=True)
        self.path = str(Path(self._folder.name) / "database.sqlite3")
        # Create the file, because `sql.connect` opens only an existing file.
        sqlite3.connect(self.path).close()
        self._connection = connect(self.path, read_only=False)
        # With a write-ahead log, clients that only read do not prevent `refresh`.
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=OFF")
        self._orders = Orders(noise, self._connection)

    def refresh(self, now: float) -> None:
        """Update the sample table; no-op if the update fails, for example during a client's transaction."""
        with contextlib.suppress(sqlite3.Error):
            self._orders.refresh(now)

    def close(self) -> None:
        """Close the connection, and remove the file."""
        self._connection.close()
        self._folder.cleanup()


class Database:
    """One database of the account. The file is created for the first pipeline."""

    def __init__(self, noise: Noise, clock: WorldClock) -> None:
        self._noise = noise
        self._clock = clock
        self._baton_count = 0
        self._parked: dict[str, _Parked] = {}
        self._file: _File | None = None

    def answer(self, baton: object, requests: object, kind: TokenKind) -> dict[str, Any]:
        """Answer a pipeline: execute its requests on the stream of a baton, or on a new stream if the baton is None.

        Raises:
            ForbiddenError: a request would write on a read-only connection.
            ProtocolError: the baton is not valid, or a request violates the protocol.
            RecursionError: the condition of a step is nested too deeply.
        """
        self._file = self._file or _File(self._noise)
        self._file.refresh(self._clock.now())
        self._close_expired_streams()
        if baton is None:
            connection = connect(self._file.path, read_only=kind is TokenKind.READ_ONLY)
            stream = Stream(SqlSession(connection, self._clock.monotonic))
        else:
            stream = self._resume(baton, kind)
        try:
            results = stream.run(requests)
        except BaseException:
            stream.close()
            raise
        next_baton = None if stream.is_closed else self._park(stream, kind)
        return {"baton": next_baton, "base_url": None, "results": results}

    def close(self) -> None:
        """Close all connections, and remove the file."""
        for parked in self._parked.values():
            parked.stream.close()
        if self._file is not None:
            self._file.close()

    def _close_expired_streams(self) -> None:
        now = self._clock.monotonic()
        for baton in [baton for baton, parked in self._parked.items() if parked.until <= now]:
            self._parked.pop(baton).stream.close()

    def _resume(self, baton: object, kind: TokenKind) -> Stream:
        parked = self._parked.pop(str(baton), None)
        if parked is not None and parked.kind is kind:
            return parked.stream
        if parked is not None:
            parked.stream.close()  # a baton is valid only once, even if it came with the wrong kind of token
        raise ProtocolError("The baton is invalid, or its stream has expired")

    def _park(self, stream: Stream, kind: TokenKind) -> str:
        """Keep a stream for its client's next pipeline, and return the baton that the pipeline has to contain."""
        self._baton_count += 1
        baton = self._noise.guid(self._baton_count)
        self._parked[baton] = _Parked(stream, kind, self._clock.monotonic() + _BATON_SECONDS)
        return baton
