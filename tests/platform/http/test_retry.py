"""When a call is retried, and how long it waits."""

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.platform.api import containers, database, dns, scripting
from exporter.platform.api.shield import SET_BOT_ACTION, SWITCH_ACCESS_LIST
from exporter.platform.errors import (
    EnvelopeError,
    NotFound,
    PlatformError,
    RateLimited,
    Rejected,
    RequestTimeout,
    Reset,
    ServerError,
)
from exporter.platform.http.rate_limiter import Retry, http_date, retry_after_seconds
from exporter.platform.operation import Request
from tests.platform.clients import Kit, Reply, answered, good

NOON = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
GOOD = good('{"TotalQueriesServed": 7}')


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("99999999999999999999", 3600.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("\u0667", None),
        ("Sun, 08 Feb 2026 12:00:42 GMT", 42.0),
        ("Sunday, 08-Feb-26 12:00:42 GMT", 42.0),
        ("Sun Feb  8 12:00:42 2026", 42.0),
        ("Sun, 08 Feb 2026 14:00:42 +0200", 42.0),
        ("Sun, 08 Feb 2026 11:00:00 GMT", 0.0),
        ("Sun, 08 Feb 2026 13:00:01 GMT", 3600.0),
        ("Sun, 08 Feb 2026 25:00:42 GMT", None),
    ],
)
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


def test_the_wait_grows_twofold_up_to_its_cap_and_is_jittered_in_full() -> None:
    longest = Retry(lambda: 1.0, base=0.5, cap=10.0)
    assert [longest.wait(attempt, None) for attempt in range(1, 8)] == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    jitter = iter((0.0, 0.25, 0.5))
    jittered = Retry(lambda: next(jitter))
    assert [jittered.wait(3, None) for _ in range(3)] == [0.0, 0.5, 1.0]


def test_the_wait_is_never_shorter_than_what_the_platform_asked_for() -> None:
    jitter = iter((0.0, 0.5))
    retry = Retry(lambda: next(jitter))
    assert [retry.wait(1, 7.0) for _ in range(2)] == [7.0, 7.25]


async def statistics(kit: Kit, until: float | None = None) -> PlatformError | int | None:
    """Return the answer to a call for a zone's statistics, or its error."""
    caller = kit.calls if until is None else kit.client.until(until)
    try:
        return (await dns.statistics(caller, 102)).value.total_queries_served
    except PlatformError as error:
        return error


async def stall(_request: httpx.Request) -> Reply:
    """Give no answer."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


RESET = httpx.ReadError("")
OTHER_CLOCK = {"Date": "Sun, 08 Feb 2026 20:00:00 GMT", "Retry-After": "Sun, 08 Feb 2026 20:00:05 GMT"}
PASSING = {
    "500": (Reply(500), ServerError, 0.25),
    "503 with seconds": (Reply(503, "", {"Retry-After": "3"}), ServerError, 3.25),
    "408": (Reply(408), RequestTimeout, 0.25),
    "429": (Reply(429), RateLimited, 0.25),
    "429 with seconds": (Reply(429, "", {"Retry-After": "7"}), RateLimited, 7.25),
    "429 with a date of a clock that is off": (Reply(429, "", OTHER_CLOCK), RateLimited, 5.25),
    "reset": (RESET, Reset, 0.25),
}


@pytest.mark.parametrize(("first", "kind", "waited"), PASSING.values(), ids=PASSING)
async def test_a_read_that_may_go_better_is_tried_again(
    first: Reply | Exception, kind: type[PlatformError], waited: float
) -> None:
    async with answered(first, GOOD, attempts=3) as (kit, _):
        assert await statistics(kit) == 7
    assert kit.clock.slept == [waited]
    assert kit.heard.retries == ["dns_statistics"]
    assert [reason for _, _, reason in kit.heard.attempts] == [kind.reason, None]


async def test_a_read_is_tried_as_often_as_it_may_be_and_fails_with_the_last_error() -> None:
    script = (Reply(500), Reply(502), Reply(503, "busy"))
    async with answered(*script, attempts=3, random=lambda: 1.0) as (kit, platform):
        error = await statistics(kit)
    assert (type(error), str(error)) == (ServerError, "the platform answered 503: busy")
    assert (kit.clock.slept, len(platform.sent)) == ([0.5, 1.0], 3)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Reply(404), NotFound),
        (Reply(422), Rejected),
        (good('{"ErrorKey": "x", "Message": "no"}'), EnvelopeError),
    ],
)
async def test_what_will_not_go_better_is_not_tried_again(answer: Reply, kind: type[PlatformError]) -> None:
    async with answered(answer, attempts=3) as (kit, platform):
        assert type(await statistics(kit)) is kind
    assert (len(platform.sent), kit.heard.retries) == (1, [])


@pytest.mark.parametrize("script", [Reply(503), Reply(429), RESET], ids=["503", "429", "reset"])
async def test_a_write_is_sent_once(script: Reply | Exception) -> None:
    async with answered(script, attempts=3) as (kit, platform):
        with pytest.raises(PlatformError):
            await kit.calls.call(Request(scripting.UPDATE, path={"id": 7}, body={"Name": "router"}))
        with pytest.raises(PlatformError):
            await kit.calls.call(Request(SET_BOT_ACTION, path={"shieldZoneId": 3, "category": 2}, body={"action": 1}))
        with pytest.raises(PlatformError):
            await kit.calls.call(
                Request(SWITCH_ACCESS_LIST, path={"shieldZoneId": 3, "id": 11}, body={"isEnabled": True})
            )
    assert [sent.method for sent in platform.sent] == ["POST", "PUT", "PATCH"]
    assert kit.heard.retries == []


async def test_a_read_that_is_a_post_is_tried_again() -> None:
    async with answered(Reply(503), attempts=2) as (kit, platform):
        for call in (
            containers.tags(kit.calls, "dockerhub", "library", "nginx"),
            kit.calls.call(Request(scripting.READ_BY_UPDATE, {"id": 7})),
            database.execute(kit.calls, ["SELECT 1"]),
        ):
            with pytest.raises(ServerError):
                await call
    assert len(platform.sent) == 6


async def test_a_retry_without_time_before_the_next_poll_is_left_to_that_poll() -> None:
    async with answered(Reply(503), attempts=3) as (kit, platform):
        # After the first wait of 0.25 s a second is left, after another 0.5 s it is not.
        error = await statistics(kit, until=kit.clock.now + 1.5)
    assert (type(error), len(platform.sent), kit.clock.slept) == (ServerError, 2, [0.25])


async def test_what_is_polled_as_often_as_an_attempt_may_take_is_tried_again() -> None:
    script = (Reply(500), GOOD)
    async with answered(*script, attempts=3, deadline=10.0) as (kit, _):
        assert await statistics(kit, until=kit.clock.now + 10) == 7


async def test_a_retry_ends_when_the_next_poll_is_due_and_a_first_attempt_has_its_time() -> None:
    async with answered(Reply(500), stall, attempts=2, deadline=60.0, shortest_retry=0.01) as (kit, _):
        error = await statistics(kit, until=kit.clock.now + 1.25)
    assert str(error) == "no answer within 1 s (platform.example)"
    assert [code for _, code, _ in kit.heard.attempts] == ["500", "none"]
    async with answered(stall, deadline=1.0, shortest_retry=0.01) as (kit, _):
        error = await statistics(kit, until=kit.clock.now + 0.02)
    assert str(error) == "no answer within 1 s (platform.example)"


async def test_a_call_that_is_asked_to_wait_for_long_fails_and_says_for_how_long() -> None:
    script = (Reply(429, "", {"Retry-After": "31"}),)
    async with answered(*script, attempts=3) as (kit, platform):
        error = await statistics(kit, until=kit.clock.now + 3600)
    assert isinstance(error, RateLimited)
    assert (error.retry_after, len(platform.sent), kit.clock.slept) == (31.0, 1, [])
