"""Polls go on at their interval when this machine's clock is set."""

from pathlib import Path

import pytest

from tests.counters.process import Exporter
from tests.exporter_parts import account_at, only
from tests.polling.platform import running
from tests.waiting import wait_until

# By how much the clock is wrong, one after the other: libfaketime's offsets.
STEPS = ("-1h", "+1h", "+7d", "-20000d", "+0")


@pytest.mark.real("faketime")
def test_polls_go_on_when_the_clock_is_set_back_and_forth_by_an_hour_a_week_or_decades(tmp_path: Path) -> None:
    (library,) = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    offset = tmp_path / "offset"
    offset.write_text("-20000d")
    faked = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": offset, "FAKETIME_NO_CACHE": 1, "DONT_FAKE_MONOTONIC": 1}
    off, polled = {"discover": False}, {"interval": "1s"}
    with running() as platform:
        settings = {
            "accounts": [account_at(platform.url, scripts=off, shield_zones=off)],
            "collectors": {**only(), "dns_statistics": polled, "discovery": polled},
            "web": {"listen": "127.0.0.1:0"},
            "state": {"path": None},
        }
        exporter = Exporter(settings, tmp_path, ("env", *(f"{name}={value}" for name, value in faked.items())))
        try:
            for step in STEPS:
                wait_until(lambda: platform.count("/statistics") > 0, "a first poll")
                offset.write_text(step)
                polls, lists = platform.count("/statistics"), platform.count("/search")
                wait_until(lambda: platform.count("/statistics") > polls + 6, f"more polls at {step}")  # noqa: B023
                wait_until(lambda: platform.count("/search") > lists + 1, f"more lists at {step}")  # noqa: B023
                assert exporter.answers("/-/healthy")
        finally:
            exporter.end()
