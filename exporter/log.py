"""Structured logs: for people on a terminal, JSON elsewhere."""

import io
import logging
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

import structlog

from exporter.terminal import escape

Level = Literal["debug", "info", "warning", "error"]
_LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

# The traces that structlog puts below a line.
_OF_SEVERAL_LINES = frozenset({"stack", "exception"})


def configure(level: Level, form: Literal["auto", "console", "json"] = "auto", stream: TextIO | None = None) -> None:
    """Set up the logs of the process: ours and those of the libraries, in one form on one stream.

    Args:
        level: the least severe level that is written.
        form: `auto` is console on a terminal and JSON elsewhere.
        stream: standard error by default, so that standard output stays for what a command prints.
    """
    out = stream if stream is not None else sys.stderr
    console = form == "console" or (form == "auto" and out.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: list[structlog.typing.Processor] = (
        [_escaped, structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=_write_exception)]
        if console
        else [structlog.processors.format_exc_info, _what_it_is_first, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(file=out),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # The libraries' own chatter is never about a target, and at debug level some of it would show headers.
    root.setLevel(max(_LEVELS[level], logging.WARNING))


def _what_it_is_first(_logger: object, _method: str, line: structlog.typing.EventDict) -> Mapping[str, object]:
    """When, how bad and what, before the facts: a line in a terminal's width still says what it is about."""
    first = [name for name in ("timestamp", "level", "event") if name in line]
    return {name: line[name] for name in dict.fromkeys((*first, *line))}


def _escaped(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape the line's texts: names and messages come from the platform. What is no text is shown by its repr."""
    return {
        escape(name): escape(value, keep="\n" if name in _OF_SEVERAL_LINES else "") if isinstance(value, str) else value
        for name, value in line.items()
    }


def _write_exception(out: TextIO, exc_info: structlog.typing.ExcInfo) -> None:
    trace = io.StringIO()
    structlog.dev.plain_traceback(trace, exc_info)
    out.write(escape(trace.getvalue(), keep="\n"))


def logger() -> structlog.typing.FilteringBoundLogger:
    """A logger; configured by the last `configure`, whenever it was asked for."""
    log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return log
