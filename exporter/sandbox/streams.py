"""The databases: streams of requests on real SQL, with batons and two kinds of tokens."""

import contextlib
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from exporter.sandbox import hrana
from exporter.sandbox.hrana import ProtocolError
from exporter.sandbox.keys import TokenKind
from exporter.sandbox.noise import Noise
from exporter.sandbox.orders import Orders
from exporter.sandbox.sql import SqlError, SqlSession, connect, split
from exporter.sandbox.world_clock import WorldClock

_BATON_SECONDS: Final = 10.0
_REQUEST_SECONDS: Final = 2.0


class Stream:
    """Requests on one connection, with its stored SQL texts; they run in the loop, because each is short."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._stored: dict[int, str] = {}
        self.is_closed = False

    def close(self) -> None:
        """End the stream; an open transaction is rolled back."""
        self._session.connection.close()
        self.is_closed = True

    def run(self, requests: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON
        """Execute requests and return their results.

        Raises:
            ForbiddenError: a request would write, and the connection is read-only.
            ProtocolError: a request violates the protocol; those before it are executed.
        """
        if not isinstance(requests, list):
            raise ProtocolError("A pipeline has a list of requests")
        results: list[dict[str, Any]] = []
        self._session.set_deadline(_REQUEST_SECONDS)
        for request in requests:
            if self.is_closed and request != {"type": "close"}:
                raise ProtocolError("The stream was closed")
            try:
                response = self._respond(request)
                results.append({"type": "ok", "response": {"type": request["type"], **response}})
            except SqlError as error:
                results.append({"type": "error", "error": error.answer()})
        return results

    def _respond(self, request: dict[str, Any]) -> dict[str, Any]:
        match request:
            case {"type": "execute", "stmt": dict(stmt)}:
                return {"result": self._execute(stmt)}
            case {"type": "batch", "batch": {"steps": list(steps)}}:
                return {"result": self._batch(steps)}
            case {"type": "describe"}:
                return {"result": self._session.describe(self._text(request))}
            case {"type": "sequence"}:
                for statement in split(self._text(request)):
                    self._session.run(statement)
            case {"type": "store_sql", "sql_id": int(sql_id), "sql": str(sql)}:
                self._stored[sql_id] = sql
            case {"type": "close_sql", "sql_id": int(sql_id)}:
                self._stored.pop(sql_id, None)
            case {"type": "get_autocommit"}:
                return {"is_autocommit": self._is_autocommit()}
            case {"type": "close"}:
                self.close()
            case _:
                raise ProtocolError("This is no request of the protocol")
        return {}

    def _is_autocommit(self) -> bool:
        return not self._session.connection.in_transaction

    def _execute(self, stmt: dict[str, Any]) -> dict[str, Any]:
        try:
            positional = [hrana.read(value) for value in stmt.get("args", ())]
            named = {one["name"].lstrip(":@$"): hrana.read(one["value"]) for one in stmt.get("named_args", ())}
        except (AttributeError, KeyError, TypeError) as error:
            raise ProtocolError("The arguments of a statement are lists of values") from error
        return self._session.run(self._text(stmt), named or positional)

    def _batch(self, steps: list[Any]) -> dict[str, Any]:
        results: list[dict[str, Any] | None] = []
        errors: list[dict[str, str] | None] = []
        for step in steps:
            if not isinstance(step, dict) or not isinstance(step.get("stmt"), dict):
                raise ProtocolError("A step of a batch has a statement")
            result = error = None
            condition = step.get("condition")
            if condition is None or hrana.holds(condition, results, errors, autocommit=self._is_autocommit()):
                try:
                    result = self._execute(step["stmt"])
                except SqlError as failure:
                    error = failure.answer()
            results.append(result)
            errors.append(error)
        return {"step_results": results, "step_errors": errors}

    def _text(self, source: dict[str, Any]) -> str:
        match source.get("sql"), source.get("sql_id"):
            case str(sql), None:
                return sql
            case None, int(sql_id) if sql_id in self._stored:
                return self._stored[sql_id]
        raise ProtocolError("Either `sql` or the `sql_id` of a stored text is required, and not both")


class _Parked(NamedTuple):
    """A stream that waits for its next pipeline."""

    stream: Stream
    kind: TokenKind
    until: float


class _File:
    """The file of a database, in a folder of its own, with the sample table."""

    def __init__(self, noise: Noise) -> None:
        self._folder = TemporaryDirectory(prefix="sandbox-database-", ignore_cleanup_errors=True)
        self.path = str(Path(self._folder.name) / "database.sqlite3")
        sqlite3.connect(self.path).close()
        self._keeper = connect(self.path, read_only=False)
        self._keeper.execute("PRAGMA journal_mode=WAL")
        self._keeper.execute("PRAGMA synchronous=OFF")
        self._orders = Orders(noise, self._keeper)

    def refresh(self, now: float) -> None:
        """Update the sample table, unless a client has locked or changed it."""
        with contextlib.suppress(sqlite3.Error):
            self._orders.refresh(now)

    def close(self) -> None:
        """Remove the file."""
        self._keeper.close()
        self._folder.cleanup()


class Database:
    """One database; its file is created when it is first used."""

    def __init__(self, noise: Noise, clock: WorldClock) -> None:
        self._noise = noise
        self._clock = clock
        self._batons = 0
        self._parked: dict[str, _Parked] = {}
        self._file: _File | None = None

    def answer(self, baton: object, requests: object, kind: TokenKind) -> dict[str, Any]:
        """Execute the requests of a pipeline, on the stream of a baton or on a new one.

        Raises:
            ForbiddenError: a request would write, and the token is read-only.
            ProtocolError: the baton is not valid, or a request violates the protocol.
        """
        self._file = self._file or _File(self._noise)
        self._file.refresh(self._clock.now())
        self._expire()
        if baton is None:
            connection = connect(self._file.path, read_only=kind is TokenKind.READ_ONLY)
            stream = Stream(SqlSession(connection, self._clock.monotonic))
        else:
            stream = self._resumed(baton, kind)
        try:
            results = stream.run(requests)
        except BaseException:
            stream.close()
            raise
        return {"baton": None if stream.is_closed else self._park(stream, kind), "base_url": None, "results": results}

    def close(self) -> None:
        """Close every connection and remove the file; a later use begins with a new one."""
        for parked in self._parked.values():
            parked.stream.close()
        self._parked.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _expire(self) -> None:
        now = self._clock.monotonic()
        for baton in [baton for baton, parked in self._parked.items() if parked.until <= now]:
            self._parked.pop(baton).stream.close()

    def _resumed(self, baton: object, kind: TokenKind) -> Stream:
        parked = self._parked.pop(str(baton), None)
        if parked is not None and parked.kind is kind:
            return parked.stream
        if parked is not None:
            parked.stream.close()
        raise ProtocolError("The baton is invalid, or its stream has expired")

    def _park(self, stream: Stream, kind: TokenKind) -> str:
        self._batons += 1
        baton = self._noise.guid(self._batons)
        self._parked[baton] = _Parked(stream, kind, self._clock.monotonic() + _BATON_SECONDS)
        return baton
