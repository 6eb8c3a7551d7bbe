"""What a client returns to its caller and reports to its observer for a successful call."""

import gzip
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from exporter.platform.api import dns, shield, sql_over_http
from exporter.platform.errors import NotAvailable, NotFound, PlatformError, RateLimited, ServerError, TooLarge
from exporter.platform.http.client import LONG_BODY
from exporter.platform.http.responses import ERROR_BODY_LIMIT
from exporter.platform.operation import PAGE_LIMIT, Operation, Request
from tests.platform.clients import Reply, answered, client_of, good
from tests.platform.raw_server import Line, RawRequest, raw_server, reply, saying

NOON = datetime(2026, 2, 8, 12, 0, 7, tzinfo=UTC)
GOOD = '{"TotalQueriesServed": 7, "QueriesServedChart": {"yesterday": 1, "2026-02-08": 7, "today": 2}}'


@pytest.mark.parametrize(
    ("date", "read"),
    [("Sun, 08 Feb 2026 12:00:07 GMT", NOON), *((text, None) for text in ("", "yesterday", "Sun, 99 Feb 2026 12:00"))],
)
async def test_an_answer_holds_the_value_the_platforms_clock_and_the_body(date: str, read: datetime | None) -> None:
    async with answered(good(GOOD, Date=date), good(GOOD)) as (kit, _):
        got, undated = [await dns.read_statistics(kit.calls, 102) for _ in range(2)]
    assert (undated.date is None) == (read is None), "an answer without a date has the time that is known"
    assert (got.value.total_queries_served, got.date, got.raw) == (7, read, GOOD.encode())


@pytest.mark.parametrize(("took", "counted"), [(4.0, 4.0), (4000.0, 5.0)], ids=["in time", "the machine was suspended"])
async def test_the_seconds_of_an_answer_are_those_of_its_own_request(took: float, counted: float) -> None:
    left = [Reply(500), good(GOOD)]

    async def slowly(_request: httpx.Request) -> Reply:
        kit.clock.now += took
        return left.pop(0)

    async with answered(slowly, useful=math.inf, rate=0.5) as (kit, _):
        # The budget's one call goes to another poll, and this one waits two seconds for its turn.
        await kit.client.rate_limiter.acquire("another", 0.0)
        kit.client.rate_limiter.release()
        answer = await dns.read_statistics(kit.calls, 102)
    assert (kit.heard.waited[0], answer.seconds, kit.heard.seconds) == (2.0, counted, [counted, counted])


STATISTICS = Request(dns.STATISTICS, {"id": 102})
LISTING = Request(shield.ZONE_RATE_LIMITS, {"shieldZoneId": 3})
BOTS = Request(shield.BOT_DETECTION, {"shieldZoneId": 3})
NO_PLAN = '{"data": null, "error": {"success": false, "errorKey": "invalid_plan_type.bot_detection"}}'
SLOW_DOWN = '{"data": null, "error": {"success": false, "statusCode": 429, "message": "slow down"}}'
# A request, its answer, the error, and the code and the reason that are reported to the observer.
OUTCOMES: dict[str, tuple[Request[Any], Reply, type[PlatformError] | None, str, str | None]] = {
    "a zone that does not exist": (STATISTICS, Reply(404), NotFound, "404", "not_found"),
    "a zone that was never scanned": (Request(dns.RECORD_SCAN, {"zoneId": 102}), Reply(404), None, "404", None),
    "no such listing": (LISTING, Reply(404), None, "404", None),
    "what the zone has not got is no failure to the observer": (BOTS, Reply(202, NO_PLAN), NotAvailable, "202", None),
    "a plan without the listing": (LISTING, Reply(404, NO_PLAN), NotAvailable, "404", None),
    "an envelope's own status decides": (BOTS, good(SLOW_DOWN), RateLimited, "200", "rate_limited"),
}


@pytest.mark.parametrize(("request_", "answer", "kind", "code", "reason"), OUTCOMES.values(), ids=OUTCOMES)
async def test_an_outcome_is_told_to_the_observer(
    request_: Request[Any], answer: Reply, kind: type[PlatformError] | None, code: str, reason: str | None
) -> None:
    dated = answer._replace(headers={"Date": "Sun, 08 Feb 2026 12:00:07 GMT"})
    async with answered(dated) as (kit, _):
        if kind is None:
            got = await kit.calls.call(request_)
            assert (got.value, got.date) == (None, NOON)
        else:
            with pytest.raises(kind):
                await kit.calls.call(request_)
    assert kit.heard.attempts == [(request_.operation.name, code, reason)]


@pytest.mark.parametrize("encoding", ["gzip", "identity", "utf-8"])
async def test_a_body_is_read_in_its_encoding(encoding: str) -> None:
    packed = gzip.compress(GOOD[:20].encode()) + gzip.compress(GOOD[20:].encode())
    answer = reply(packed if encoding == "gzip" else GOOD, Content_Encoding=encoding)
    async with raw_server(saying(answer)) as server, client_of(server.url) as kit:
        assert (await dns.read_statistics(kit.calls, 102)).raw == GOOD.encode()


async def test_a_body_of_exactly_the_limit_is_read_however_it_comes() -> None:
    whole = GOOD.encode().ljust(PAGE_LIMIT)

    async def send(request: RawRequest, line: Line) -> None:
        match request.target:
            case "/dnszone/1/statistics":
                await line.send(reply(whole))
            case "/dnszone/2/statistics":
                await line.send(reply(gzip.compress(whole, 1), Content_Encoding="gzip"))
            case _:
                await line.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                await line.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(whole), whole))

    async with raw_server(send) as server, client_of(server.url) as kit:
        sizes = [len((await dns.read_statistics(kit.calls, zone)).raw) for zone in (1, 2, 3)]
    assert sizes == [PAGE_LIMIT] * 3


async def test_the_documented_answers_without_pages_may_be_four_times_as_long() -> None:
    answers: dict[Operation[Any], bytes] = {
        shield.API_GUARDIAN: b'{"data": {"endpoints": []}, "error": null}',
        shield.ACCESS_LIST: b'{"data": {"id": 11}, "error": null}',
        shield.PLAN_SEGMENTATION: b'{"data": [], "error": null}',
        sql_over_http.PIPELINE: b'{"results": []}',
    }
    for operation, body in answers.items():
        request = Request(operation, {"shieldZoneId": 3, "id": 11})
        longest, too_long = body.ljust(4 * PAGE_LIMIT), body.ljust(4 * PAGE_LIMIT + 1)
        async with answered(Reply(200, longest), Reply(200, too_long)) as (kit, _):
            assert len((await kit.calls.call(request)).raw) == 4 * PAGE_LIMIT
            with pytest.raises(TooLarge, match="more than 16777216 bytes"):
                await kit.calls.call(request)


@pytest.mark.parametrize("size", [LONG_BODY, LONG_BODY + 1])
async def test_a_long_answer_is_parsed_by_the_executor_and_a_short_one_on_the_loop(size: int) -> None:
    with ThreadPoolExecutor(1) as parsing:
        async with answered(good(GOOD.ljust(size)), good("<html>".ljust(size))) as (kit, _):
            kit.client.parsing = parsing
            with patch.object(parsing, "submit", wraps=parsing.submit) as submit:
                assert (await dns.read_statistics(kit.calls, 102)).value.total_queries_served == 7
                error = await kit.failure()
    assert str(error) == "the platform answered 200 with a body that is HTML or XML"
    assert submit.call_count == (2 if size > LONG_BODY else 0)


async def test_of_an_errors_body_the_beginning_is_read() -> None:
    body = "no such key ".ljust(ERROR_BODY_LIMIT * 2, "x")
    async with answered(Reply(401, body)) as (kit, _):
        error = await kit.failure()
    assert str(error) == "the platform answered 401: no such key " + "x" * 260 + "…"


async def test_a_poll_counts_its_calls_also_when_they_fail() -> None:
    async with answered(Reply(500), good(GOOD), Reply(404), Reply(500)) as (kit, platform):
        calls = kit.client.calls_until(kit.clock.now + 1.5)
        await dns.read_statistics(calls, 102)
        assert (await calls.call(Request(dns.RECORD_SCAN, {"zoneId": 103}))).value is None
        with pytest.raises(ServerError):
            await dns.read_statistics(calls, 104)
    # Retries do not count as calls of the poll.
    assert (calls.call_count, len(platform.sent)) == (3, 5)


async def test_a_call_that_cannot_wait_for_the_pause_of_its_operation_fails_without_a_request() -> None:
    async with answered(Reply(429, "", {"Retry-After": "200"}), good(GOOD)) as (kit, platform):
        assert isinstance(await kit.failure(1), RateLimited)
        with pytest.raises(RateLimited) as caught:
            await dns.read_statistics(kit.calls, 3)
        assert (len(platform.sent), len(kit.heard.attempts), round(caught.value.retry_after or 0, 6)) == (1, 1, 200.0)
    said = "calls of dns_statistics are paused for another 200 s, after an answer that asked to wait"
    assert (str(caught.value), kit.clock.slept) == (said, [])


ASKED = {"Retry-After": "9"}


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (Reply(429, "", ASKED), 9.0),
        (Reply(503, "", ASKED), 9.0),
        (Reply(403, "", ASKED), 9.0),
        (Reply(200, '{"statusCode": 429, "message": "slow down"}', ASKED), 9.0),
        (Reply(403), 0.0),
        (Reply(500, "", ASKED), 0.0),
    ],
)
async def test_an_answer_that_asks_to_wait_pauses_its_operation_alone(answer: Reply, pause: float) -> None:
    async with answered(answer) as (kit, _):
        await kit.failure(1)
        limiter = kit.client.rate_limiter
        assert (round(limiter.paused_for("dns_statistics"), 6), limiter.paused_for("search")) == (pause, 0.0)


@pytest.mark.parametrize(
    ("answer", "rate"), [(good(GOOD), 0.52), (Reply(404), 0.52), (Reply(500), 0.5), (httpx.ReadError(""), 0.5)]
)
async def test_the_rate_recovers_with_answers_and_not_with_failures_of_the_platform(
    answer: Reply | Exception, rate: float
) -> None:
    async with answered(Reply(429), answer) as (kit, _):
        for zone in (1, 2):
            with suppress(PlatformError):
                await dns.read_statistics(kit.calls, zone)
        assert kit.client.rate_limiter.effective_rate == pytest.approx(rate * 1e6)
