"""Structured logs, in a form for people or as JSON."""

import contextlib
import io
import logging
import os
import select
import sys
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TextIO

import structlog

from exporter.untrusted.terminal import escape

Level = Literal["debug", "info", "warning", "error"]
Processors = tuple[structlog.typing.Processor, ...]

# If `select.poll` reports a pipe as writable, a write of at most this many bytes does not block (PIPE_BUF).
_PIECE = 4096
# How long a piece waits for a slow reader. After this time, lines are lost until the reader reads again.
_PATIENCE_MS = 100

# The keys whose values are tracebacks. structlog prints tracebacks below the log line, so they keep their line breaks.
_TRACEBACK_KEYS = frozenset({"stack", "exception"})


def configure(level: Level, form: Literal["auto", "console", "json"] = "auto", stream: TextIO | None = None) -> None:
    """Set up the logs of the process: the exporter's and the libraries', in one form on one stream.

    Args:
        level: the lowest level that is written. Debug and info lines of libraries are left out at any level.
        form: `auto` is console on a terminal and JSON elsewhere.
        stream: where the logs go; standard error by default.
    """
    out = sys.stderr if stream is None else stream
    lowest = logging.getLevelNamesMapping()[level.upper()]
    is_console = form == "console" or (form == "auto" and out.isatty())
    last_steps = _for_people(colours=out.isatty()) if is_console else _FOR_PROGRAMS
    target = _without_blocking(out)
    structlog.configure(
        processors=[*_SHARED, *last_steps],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=structlog.WriteLoggerFactory(file=target),
        cache_logger_on_first_use=False,
    )
    _configure_libraries(target, lowest, last_steps)


def _configure_libraries(target: TextIO, lowest: int, last_steps: Processors) -> None:
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last_steps],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Debug and info lines of libraries are not about targets, and some of them contain headers.
    root.setLevel(max(lowest, logging.WARNING))
    # Leave out psycopg's warnings of lost connections: the exporter itself logs that the state is not saved.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    # Leave out APScheduler's warnings of late runs: `edge_exporter_collector_missed_runs_total` counts missed polls.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)


def _report_of_lost(lines: int) -> str:
    line: structlog.typing.ProcessorReturnValue = {
        "event": "log lines were lost: the reader was too slow",
        "lines": lines,
    }
    for step in structlog.get_config()["processors"]:
        line = step(None, "warning", line)
    return str(line)


# Cached, because a reload configures the logs again, and the writer must keep its number of lost lines.
@lru_cache(maxsize=1)
def _without_blocking(out: TextIO) -> TextIO:
    """Return a stream that writes to `out`, but loses lines instead of blocking; without a descriptor, return `out`."""
    try:
        fd = out.fileno()
    except OSError:  # a stream in memory has no descriptor, and does not block
        return out
    return _NonBlockingWriter(fd, out.encoding)  # type: ignore[return-value]  # has the methods that are used


class _NonBlockingWriter(io.TextIOBase):
    """Writes log lines to a descriptor. If the descriptor accepts no bytes for 0.1 s (a full pipe), lines are lost.

    Before the next line that can be written, a line says how many lines were lost.
    """

    def __init__(self, fd: int, encoding: str) -> None:
        self._fd = fd
        self._encoding = encoding
        # The number of lines that were lost since the last report.
        self._lost = 0
        # Whether only the first part of the last line was written.
        self._is_cut = False
        self._lock = threading.Lock()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    def write(self, text: str) -> int:
        """Write one log line."""
        with self._lock, contextlib.suppress(OSError):  # a closed pipe or a full disk must not make a poll fail
            if self._lost and self._is_writable():
                lost, self._lost = self._lost, 0
                self._write(f"{_report_of_lost(lost)}\n", lines=lost)
            self._write(text, lines=1)
        return len(text)

    def _write(self, text: str, *, lines: int) -> None:
        """Write a text. If the descriptor does not accept the whole text in time, count `lines` lines as lost."""
        data = text.encode(self._encoding, "backslashreplace")
        if self._is_cut:
            data = b"\n" + data
        while data:
            if not self._is_writable():
                self._lost += lines
                return
            written = os.write(self._fd, data[:_PIECE])
            data = data[written:]
            self._is_cut = bool(data)

    def _is_writable(self) -> bool:
        """Return whether the descriptor accepts a piece; while lines are being lost, do not wait for the reader."""
        return bool(self._poll.poll(0 if self._lost else _PATIENCE_MS))


def _event_first(_logger: object, _method: str, line: structlog.typing.EventDict) -> Mapping[str, object]:
    """Put the time, the level and the event first, because people read JSON lines, too."""
    first = {name: line[name] for name in ("timestamp", "level", "event") if name in line}
    return {**first, **line}


def _escaped(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape texts of a log line, as some come from the platform. Other values are written by `repr`, which escapes."""
    escaped = {}
    for name, value in line.items():
        keep = "\n" if name in _TRACEBACK_KEYS else ""
        escaped[escape(name)] = escape(value, keep=keep) if isinstance(value, str) else value
    return escaped


def _write_exception(out: TextIO, exc_info: structlog.typing.ExcInfo) -> None:
    trace = io.StringIO()
    structlog.dev.plain_traceback(trace, exc_info)
    out.write(escape(trace.getvalue(), keep="\n"))


# The first processors of a log line, in both forms.
_SHARED: Processors = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)
# The last processors of a log line as JSON.
_FOR_PROGRAMS: Processors = (
    structlog.processors.format_exc_info,
    _event_first,
    structlog.processors.JSONRenderer(),
)


def _for_people(*, colours: bool) -> Processors:
    return _escaped, structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=_write_exception)


def logger() -> structlog.typing.FilteringBoundLogger:
    """Return a logger. When it logs a line, it uses the settings of the latest call of `configure`."""
    log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return log
