"""Structured logs."""

import io
import json
import logging
import os
import re

from exporter.log import configure, logger


class Terminal(io.StringIO):
    """A stream that reports that it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def test_elsewhere_than_on_a_terminal_each_line_is_json_with_the_facts_as_keys() -> None:
    out = io.StringIO()
    configure("info", "auto", out)
    logger().warning("target fails", target="dns_zone/102", reason="timeout")
    line = json.loads(out.getvalue())
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "target fails", "level": "warning", "target": "dns_zone/102", "reason": "timeout"}


def test_on_a_terminal_it_is_for_people() -> None:
    out = Terminal()
    configure("info", "auto", out)
    logger().warning("target fails", target="dns_zone/102")
    assert "target fails" in out.getvalue()
    assert not out.getvalue().startswith("{")


def test_what_is_less_severe_than_the_level_is_not_written() -> None:
    out = io.StringIO()
    configure("warning", "json", out)
    logger().info("routine")
    assert out.getvalue() == ""


def test_a_logger_that_was_made_earlier_follows_a_new_level() -> None:
    out = io.StringIO()
    configure("warning", "json", out)
    early = logger()
    configure("info", "json", out)
    early.info("now heard")
    assert json.loads(out.getvalue())["event"] == "now heard"


def test_libraries_speak_in_the_same_form_and_never_below_a_warning() -> None:
    out = io.StringIO()
    configure("debug", "json", out)
    logging.getLogger("asyncio").debug("chatter")
    logging.getLogger("asyncio").warning("slow callback")
    assert json.loads(out.getvalue())["event"] == "slow callback"


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
    assert r"evil\u001b]0;title\u0007\u009b31m\u202e\u2066\u000d\u000aforged line" in text


def test_text_that_a_terminal_shows_is_left_alone() -> None:
    out = io.StringIO()
    configure("info", "console", out)
    logger().info("target fails", name="bücher.example 日本 🚀")
    assert "bücher.example 日本 🚀" in out.getvalue()


def test_a_log_that_nobody_reads_stops_nothing_and_says_later_how_much_is_missing() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "w") as stream:
        configure("info", "json", stream)
        for number in range(3000):
            logger().info("a line", number=number, text="x" * 100)
        os.set_blocking(read, False)
        first = reader.read()
        logger().info("read again")
        lines = (first + reader.read()).decode().split("\n")
    whole = [json.loads(line) for line in lines if line.endswith("}")]
    kept = sum(line["event"] == "a line" for line in whole)
    assert [line["number"] for line in whole[:kept]] == list(range(kept))
    assert [(line["event"], line.get("lines")) for line in whole[kept:]] == [
        ("log lines were lost: the reader was too slow", 3000 - kept),
        ("read again", None),
    ]


def test_what_a_library_warns_of_and_a_metric_counts_is_not_written() -> None:
    out = io.StringIO()
    configure("info", "json", out)
    logging.getLogger("apscheduler.scheduler").warning('Execution of job "tick" skipped')
    assert out.getvalue() == ""
    logging.getLogger("apscheduler.scheduler").error("it broke")
    assert json.loads(out.getvalue())["event"] == "it broke"
