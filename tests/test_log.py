"""Structured logs."""

import io
import json
import logging
import os
import re
import select
from pathlib import Path
from unittest.mock import Mock, patch

import pytest

from exporter.log import configure, logger


class Terminal(io.StringIO):
    """A stream that reports that it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.mark.parametrize(
    ("level", "source", "said", "event", "written"),
    [
        ("info", "", "warning", "target fails", True),
        ("warning", "", "info", "routine", False),
        # Libraries speak in the same form, and never below a warning.
        ("debug", "asyncio", "debug", "chatter", False),
        ("debug", "asyncio", "warning", "slow callback", True),
        ("error", "asyncio", "warning", "slow callback", False),
        # A failed write reports what one of these libraries warns of; a metric counts what the other warns of.
        ("info", "psycopg", "warning", "connection lost", False),
        ("info", "apscheduler.scheduler", "warning", "execution skipped", False),
        ("info", "apscheduler.scheduler", "error", "it broke", True),
    ],
)
def test_elsewhere_than_on_a_terminal_each_line_is_json_and_severe_enough(
    level: str, source: str, said: str, event: str, *, written: bool
) -> None:
    out = io.StringIO()
    early = logger()
    # A logger that was made earlier follows a new level.
    configure("error", "auto", out)
    early.info("not severe enough")
    configure(level, "auto", out)  # type: ignore[arg-type] # one of the words
    facts = {} if source else {"target": "dns_zone/102", "reason": "timeout"}
    getattr(logging.getLogger(source) if source else early, said)(event, **facts)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [list(line)[:3] for line in lines] == [["timestamp", "level", "event"]] * written
    assert all(line.pop("timestamp").endswith("Z") for line in lines)
    assert lines == [{"event": event, "level": said, **facts}] * written


def test_on_a_terminal_foreign_text_steers_nothing_and_forges_no_line() -> None:
    out = Terminal()
    configure("info", "console", out)
    hostile = "evil\x1b]0;title\x07\x9b31m\u202e\u2066\r\nforged line"
    logger().warning(f"event {hostile}", name=hostile, names=[hostile], **{f"key{hostile}": 1})
    logging.getLogger("library").warning("said %s", hostile)
    logger().error("failed", exc_info=ValueError(hostile))
    # The renderer's own colours are the only sequences that are left.
    text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert [char for char in text if not char.isprintable() and char != "\n"] == []
    assert not any(line.startswith("forged") for line in text.split("\n")[:2])
    escaped = r"evil\u001b]0;title\u0007\u009b31m\u202e\u2066\u000d"
    assert rf"{escaped}\u000aforged line" in text
    assert f"\nValueError: {escaped}\nforged line" in text


def test_text_that_a_terminal_shows_is_left_alone() -> None:
    out = Terminal()
    configure("info", "auto", out)
    logger().info("target fails", name="bücher.example 日本 🚀")
    assert "bücher.example 日本 🚀" in out.getvalue()
    assert not out.getvalue().startswith("{")
    configure("info", "console", plain := io.StringIO())
    logger().info("target fails", name="bücher.example")
    assert not plain.getvalue().startswith("{"), "it was asked for"
    assert "\x1b" not in plain.getvalue(), "colours are for terminals"


def test_a_full_disk_stops_nothing_and_what_a_file_cannot_hold_is_escaped(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full, (tmp_path / "log").open("w", encoding="ascii") as narrow:
        for stream in (full, narrow):
            configure("info", "console", stream)
            logger().info("target fails", name="bücher.example")
    assert r"b\xfccher.example" in (tmp_path / "log").read_text()


def test_a_log_that_nobody_reads_stops_nothing_and_says_later_how_much_is_missing() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "w") as stream:
        watched = Mock(wraps=select.poll())
        with patch("exporter.log.select.poll", return_value=watched):
            configure("info", "json", stream)
        # A pipe may accept only the first pieces of a line.
        for number in range(300):
            logger().info("a line", number=number, text="x" * 9000)
        waits = [called.args[0] for called in watched.poll.call_args_list]
        assert set(waits) == {0, 100}
        assert waits == sorted(waits, reverse=True), "the reader was waited for once"
        os.set_blocking(read, False)
        first = reader.read()
        configure("info", "json", stream)
        logger().info("read again")
        logger().info("and again")
        lines = (first + reader.read()).decode().split("\n")
    assert lines[0]
    whole = [json.loads(line) for line in lines if line.endswith("}")]
    kept = sum(line["event"] == "a line" for line in whole)
    assert [line["number"] for line in whole[:kept]] == list(range(kept))
    assert [(line["event"], line.get("lines")) for line in whole[kept:]] == [
        ("log lines were lost: the reader was too slow", 300 - kept),
        ("read again", None),
        ("and again", None),
    ]
