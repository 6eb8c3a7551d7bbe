"""Structured logs: for people on a terminal, JSON elsewhere."""

import contextlib
import io
import logging
import os
import select
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Literal, TextIO

import structlog

from exporter.untrusted.terminal import escape

Level = Literal["debug", "info", "warning", "error"]
Processors = tuple[structlog.typing.Processor, ...]

# A write of up to this size to a pipe that poll reports as writable does not block (PIPE_BUF).
_PIECE = 4096
# How long to wait, once, for a slow reader; then lines are dropped until it reads again.
_PATIENCE_MS = 100

# The keys of tracebacks, which structlog prints below the log line.
_OF_SEVERAL_LINES = frozenset({"stack", "exception"})


def configure(level: Level, form: Literal["auto", "console", "json"] = "auto", stream: TextIO | None = None) -> None:
    """Set up the logs of the process: the exporter's and the libraries', in one form on one stream.

    Args:
        level: the lowest level that is written.
        form: `auto` is console on a terminal and JSON elsewhere.
        stream: standard error by default, so that standard output stays for what a command prints.
    """
    out, lowest = stream if stream is not None else sys.stderr, logging.getLevelNamesMapping()[level.upper()]
    is_console = form == "console" or (form == "auto" and out.isatty())
    render = _for_people(colours=out.isatty()) if is_console else _FOR_PROGRAMS
    target = _NeverWaiting.on(out, lambda lines: _lost_lines(lines, (*_SHARED, *render)))
    structlog.configure(
        processors=[*_SHARED, *render],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=structlog.WriteLoggerFactory(file=target),
        cache_logger_on_first_use=False,
    )
    _configure_libraries(target, lowest, render)


def _configure_libraries(target: TextIO, lowest: int, render: Processors) -> None:
    """Write the libraries' warnings in the same form."""
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # The libraries' debug lines are not about targets, and some of them contain headers.
    root.setLevel(max(lowest, logging.WARNING))
    # It warns of each lost connection; a failed write or renewal already reports that once.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    # It warns of each skipped or late run, which `edge_exporter_collector_missed_runs_total` already counts.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)


def _lost_lines(lines: int, steps: Processors) -> str:
    """Return the log line that reports lost ones."""
    line: structlog.typing.ProcessorReturnValue = {
        "event": "log lines were lost: the reader was too slow",
        "lines": lines,
    }
    for step in steps:
        line = step(None, "warning", line)  # type: ignore[arg-type]  # a dictionary until the last step
    return str(line)


class _NeverWaiting(io.TextIOBase):
    """Writes whole lines to a descriptor; a full pipe or a stopped terminal must not stop the event loop."""

    def __init__(self, fd: int, encoding: str, lost: Callable[[int], str]) -> None:
        self._fd = fd
        self._encoding = encoding
        self._render_lost = lost
        self._lost = 0
        self._torn = False
        self._lock = threading.Lock()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    @classmethod
    def on(cls, out: TextIO, lost: Callable[[int], str]) -> TextIO:
        try:
            fd = out.fileno()
        except (OSError, ValueError, AttributeError):  # a stream in memory has no descriptor
            return out
        return cls(fd, out.encoding, lost)  # type: ignore[return-value]  # what is used of it

    def write(self, text: str) -> int:
        with self._lock, contextlib.suppress(OSError):  # a closed pipe or a full disk must not fail a poll
            if self._lost and self._writable():
                lost, self._lost = self._lost, 0
                self._write(f"{self._render_lost(lost)}\n", lost)
            self._write(text, 1)
        return len(text)

    def _write(self, text: str, lines: int) -> None:
        data = text.encode(self._encoding, "backslashreplace")
        if self._torn:
            data = b"\n" + data
        while data:
            if not self._writable():
                self._lost += lines
                return
            written = os.write(self._fd, data[:_PIECE])
            data = data[written:]
            self._torn = bool(data)

    def _writable(self) -> bool:
        return bool(self._poll.poll(0 if self._lost else _PATIENCE_MS))


def _event_first(_logger: object, _method: str, line: structlog.typing.EventDict) -> Mapping[str, object]:
    """Put the time, the level and the event before the facts, so that a line cut at a terminal's width is clear."""
    first = [name for name in ("timestamp", "level", "event") if name in line]
    return {name: line[name] for name in dict.fromkeys((*first, *line))}


def _escaped(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape the texts of a line, because names and messages come from the platform; other values are shown by repr."""
    return {
        escape(name): escape(value, keep="\n" if name in _OF_SEVERAL_LINES else "") if isinstance(value, str) else value
        for name, value in line.items()
    }


def _write_exception(out: TextIO, exc_info: structlog.typing.ExcInfo) -> None:
    trace = io.StringIO()
    structlog.dev.plain_traceback(trace, exc_info)
    out.write(escape(trace.getvalue(), keep="\n"))


# The first steps of each log line.
_SHARED: Processors = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)
# The last steps of a log line as JSON.
_FOR_PROGRAMS: Processors = (
    structlog.processors.format_exc_info,
    _event_first,
    structlog.processors.JSONRenderer(),
)


def _for_people(*, colours: bool) -> Processors:
    """Return the last steps of a log line on a terminal."""
    return _escaped, structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=_write_exception)


def logger() -> structlog.typing.FilteringBoundLogger:
    """Return a logger, which always uses the settings of the last call of `configure`."""
    log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return log
