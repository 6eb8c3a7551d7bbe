"""When a call is retried, and how long it waits."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.platform.api import containers, dns, scripting, sql_over_http
from exporter.platform.api.shield import SET_BOT_ACTION, SWITCH_ACCESS_LIST
from exporter.platform.errors import PlatformError
from exporter.platform.http.response_headers import http_date, retry_after_seconds
from exporter.platform.operation import Request
from tests.platform.clients import Reply, Script, answered, good

NOON = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
GOOD = good('{"TotalQueriesServed": 7}')


# A header, as the seconds to wait.
HEADERS: tuple[tuple[float | None, tuple[str | None, ...]], ...] = (
    (None, (None, "", "-1", "1.5", "soon", "\u0667", "Sun, 08 Feb 2026 25:00:42 GMT")),
    (0, ("0", "Sun, 08 Feb 2026 11:00:00 GMT")),
    (7, ("7", " 7 ")),
    (120, ("0000000000120",)),
    (42, ("Sun, 08 Feb 2026 12:00:42 GMT", "Sunday, 08-Feb-26 12:00:42 GMT", "Sun Feb  8 12:00:42 2026")),
    (42, ("Sun, 08 Feb 2026 14:00:42 +0200",)),
    (3600, ("99999999999999999999", "9" * 5000, "Sun, 08 Feb 2026 13:00:01 GMT")),
)


@pytest.mark.parametrize(("header", "seconds"), [(header, number) for number, row in HEADERS for header in row])
def test_retry_after_is_read_in_both_forms(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, NOON) == seconds


@given(st.text(max_size=60))
def test_no_header_breaks_the_reading_of_dates(text: str) -> None:
    moment = http_date(text)
    assert moment is None or moment.utcoffset() == timedelta(0)
    seconds = retry_after_seconds(text, NOON)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize("text", ["Fri, 31 Dec 9999 23:59:59 -1200", "Mon, 01 Jan 0001 00:00:00 +1400", "0 0 0 0 0"])
def test_a_date_beyond_the_calendar_is_none(text: str) -> None:
    moment = http_date(text)
    assert moment is None or 1 < moment.year < 9999


async def stall(_request: httpx.Request) -> Reply:
    """Give no answer."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def after(status: int, wait: str, **headers: str) -> Reply:
    """Return an answer that asks to wait."""
    return Reply(status, "", {"Retry-After": wait, **headers})


def within(status: int, wait: str) -> Reply:
    """Return an answer that reports a status in its body, and asks to wait."""
    return Reply(200, f'{{"statusCode": {status}, "message": "slow down"}}', {"Retry-After": wait})


RESET = httpx.ReadError("")
OTHER_CLOCK = after(429, "Sun, 08 Feb 2026 20:00:01 GMT", Date="Sun, 08 Feb 2026 20:00:00 GMT")
LATE = "no answer within 1 s (platform.example)"


# The answers to a read with up to three attempts; the reasons of its errors, with the waits between them, and the
# last error; further arguments of the client.
Case = tuple[Sequence[Reply | Script | Exception], str, Mapping[str, Any]]
FAILS = "the platform answered"
CASES: dict[str, Case] = {
    "500": ([Reply(500), GOOD], "server_error 0.25 None", {}),
    "503 with seconds": ([after(503, "1"), GOOD], "server_error 1.25 None", {}),
    "408": ([Reply(408), GOOD], "request_timeout 0.25 None", {}),
    "429": ([Reply(429), GOOD], "rate_limited 1.0 None", {}),
    "429 with seconds": ([after(429, "1"), GOOD], "rate_limited 1.25 None", {}),
    "429 with a date of a clock that is off": ([OTHER_CLOCK, GOOD], "rate_limited 1.25 None", {}),
    "429 with a date alone": ([after(429, "Sun, 08 Feb 2026 12:00:01 GMT"), GOOD], "rate_limited 1.25 None", {}),
    "429 in the body of a 200": ([within(429, "1"), GOOD], "rate_limited 1.25 None", {}),
    "503 in the body of a 200": ([within(503, "1"), GOOD], "server_error 1.25 None", {}),
    "reset": ([RESET, GOOD], "reset 0.25 None", {}),
    "as often as it may be": (
        [Reply(500), Reply(502), Reply(503, "busy")],
        f"server_error 0.5 server_error 1.0 server_error: {FAILS} 503: busy",
        {"random": lambda: 1.0},
    ),
    "404 will not go better": ([Reply(404)], f"not_found: {FAILS} 404", {}),
    "nor will 422": ([Reply(422)], f"rejected: {FAILS} 422", {}),
    "nor will 407": ([Reply(407)], "proxy: the proxy answered 407", {}),
    "nor a failure in an answer": (
        [good('{"ErrorKey": "x", "Message": "no"}')], f"envelope: {FAILS} 200 with a failure: no", {}
    ),
    # After the first wait of 0.25 s a second is left, after another 0.5 s it is not.
    "without time before the next poll": (
        [Reply(500)], f"server_error 0.25 server_error: {FAILS} 500", {"useful": 1.5}
    ),
    "polled as often as an attempt may take": (
        [Reply(500), GOOD], "server_error 0.25 None", {"useful": 10, "deadline": 10.0}
    ),
    "a retry ends when the next poll is due": (
        [Reply(500), stall],
        f"server_error 0.25 timeout: {LATE}",
        {"useful": 1.25, "deadline": 60.0},
    ),
    "a retry that waits for the budget has a second all the same": (
        [Reply(500), stall], f"server_error 0.25 timeout: {LATE}", {"useful": 1.5, "deadline": 60.0, "rate": 0.5}
    ),
    "a first attempt has its time": (
        [stall], f"timeout: {LATE.replace('1 s', '1.25 s')}", {"useful": 0.02, "deadline": 1.25}
    ),
    "two seconds are not waited": ([after(503, "2")], f"server_error: {FAILS} 503", {}),
}  # fmt: skip


@pytest.mark.parametrize(("answers", "goes", "options"), CASES.values(), ids=CASES)
async def test_a_read_is_tried_again_while_that_may_help(
    answers: Sequence[Reply | Script | Exception], goes: str, options: Mapping[str, Any]
) -> None:
    error = ""
    async with answered(*answers, **{"useful": math.inf, **options}) as (kit, platform):
        try:
            assert (await dns.read_statistics(kit.calls, 102)).value.total_queries_served == 7
        except PlatformError as fault:
            error = f": {fault}"
    reasons = [reason for _, _, reason in kit.heard.attempts]
    went = [word for pair in zip_longest(reasons, kit.clock.slept) for word in pair]
    assert " ".join(map(str, went[: 2 * len(reasons) - 1])) + error == goes
    assert (len(platform.sent), kit.heard.retries) == (len(reasons), ["dns_statistics"] * (len(reasons) - 1))


WRITES: tuple[Request[Any], ...] = (
    Request(scripting.UPDATE, path={"id": 7}, body={"Name": "router"}),
    Request(SET_BOT_ACTION, path={"shieldZoneId": 3, "category": 2}, body={"action": 1}),
    Request(SWITCH_ACCESS_LIST, path={"shieldZoneId": 3, "id": 11}, body={"isEnabled": True}),
)
READS: tuple[Request[Any], ...] = (
    Request(containers.TAGS, body={"registryId": "dockerhub", "imageName": "nginx", "imageNamespace": "library"}),
    Request(scripting.READ_BY_UPDATE, path={"id": 7}),
    sql_over_http.execute_request(["SELECT 1"]),
)


@pytest.mark.parametrize("answer", [Reply(503), Reply(429), RESET], ids=["503", "429", "reset"])
async def test_a_write_is_sent_once_and_a_read_that_is_a_post_is_tried_again(answer: Reply | Exception) -> None:
    for request in (*WRITES, *READS):
        async with answered(answer, useful=math.inf) as (kit, platform):
            with pytest.raises(PlatformError):
                await kit.calls.call(request)
        assert len(platform.sent) == (1 if request in WRITES else 3)
