"""Each way in which a call can fail gives one error of one class, which is reported once to the observer."""

import asyncio
import gzip
import math
import socket
import ssl
from contextlib import ExitStack
from inspect import signature
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler

from exporter.platform import errors
from exporter.platform.api import dns
from tests.golden import assert_golden
from tests.platform.clients import client_of
from tests.platform.raw_server import Line, RawRequest, Script, dripping, ending, listening, raw_server, reply, saying
from tests.waiting import until
from tests.web.certificates import Authority

MIB = 1024 * 1024
# Long enough for what comes before the stall, which takes milliseconds.
SHORT = 1.0
GOOD = '{"TotalQueriesServed": 7, "QueriesServedChart": {"2026-02-08T00:00:00Z": 7}}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BOMB = gzip.compress(b" " * (17 * MIB))
ZIPPED = gzip.compress(GOOD.encode())


def whole(status: int, body: str | bytes = "", **headers: str) -> Script:
    """Return a script of a whole answer."""
    return saying(reply(body, status, **headers))


# What the platform does.
FAULTS: dict[str, Script] = {
    "401": whole(401),
    "401 with a body that stalls": ending("stalled", b"HTTP/1.1 401 No\r\nContent-Length: 9\r\n\r\n"),
    "429 without Retry-After": whole(429),
    "429 with a body in an encoding that is none": whole(429, b"\x00\x01", Content_Encoding="gzip"),
    "429 with an endless body": dripping(b"HTTP/1.1 429 No\r\n\r\n", b" " * 65536, 0),
    "500": whole(500, "oops"),
    "a redirect": whole(302, Location="http://127.0.0.1:1/"),
    "reset before the headers": ending("reset"),
    "reset in the headers": ending("reset", HEAD[:40]),
    "reset after the headers": ending("reset", HEAD),
    "reset in the body": ending("reset", HEAD + b'{"Total'),
    "closed without an answer": ending("closed"),
    "read time-out": ending("stalled"),
    "headers that stall": ending("stalled", HEAD[:40]),
    "a body that stalls": ending("stalled", HEAD + b"{"),
    "a body that drips": dripping(HEAD),
    "17 MiB": whole(200, b" " * (17 * MIB)),
    "17 MiB that are announced and never come": ending("stalled", HEAD.replace(b"100", b"17825792")),
    "a body without end": dripping(CHUNKED, b"%x\r\n%s\r\n" % (MIB, b" " * MIB), 0),
    "a gzip bomb": whole(200, BOMB, Content_Encoding="gzip"),
    "gzip in gzip": whole(200, BOMB, Content_Encoding="gzip, gzip"),
    "gzip that is none": whole(200, GOOD, Content_Encoding="gzip"),
    "gzip that is cut off": whole(200, ZIPPED[:-20], Content_Encoding="gzip"),
    "an empty body": whole(200),
    "no content": whole(204),
    "a length larger than the body": ending("closed", HEAD + GOOD.encode()),
    "chunks that end too soon": ending("closed", CHUNKED + b'5\r\n{"Tot\r\n'),
    "garbage for HTTP": saying(b"\x16\x03\x01 garbage\r\n\r\n"),
    "a header that is too long": saying(b"HTTP/1.1 200 OK\r\nX: " + b"x" * MIB + b"\r\n\r\n"),
    "a header of 9,000 bytes": whole(200, GOOD, X="x" * 9_000),
}
LATE = {
    *("401 with a body that stalls", "read time-out", "headers that stall", "a body that stalls", "a body that drips"),
}


async def failure(url: str, times: int = 1, **options: Any) -> Any:
    """Return the error of the last of some calls, and the attempts that were reported."""
    async with client_of(url, **options) as kit:
        found = [await kit.failure() for _ in range(times)]
    return found[-1], kit.heard.attempts


async def test_a_fault_is_one_error_of_its_class() -> None:
    """`faults.txt` has the error of each fault, and what is reported to the observer."""
    lines = []
    for words, script in FAULTS.items():
        async with raw_server(script) as server:
            error, attempts = await failure(server.url, deadline=SHORT if words in LATE else 5.0)
        said = str(error).partition(" (")[0]
        lines.append(f"{words}: {type(error).__name__} of {error.status}, {attempts}: {said}\n")
        assert (len(server.requests), server.connections) == (1, 1)
    assert_golden("".join(lines), Path(__file__).parent / "faults.txt")


@pytest.mark.parametrize("name", ["read time-out", "a body that drips", "a gzip bomb", "401 with a body that stalls"])
async def test_a_call_that_failed_leaves_neither_a_permit_nor_a_connection_behind(name: str) -> None:
    async with raw_server(FAULTS[name]) as server:
        await failure(server.url, times=3, deadline=SHORT if name in LATE else 5.0, max_in_flight=1)
        # On a busy machine a deadline of milliseconds may pass before the server has read the request.
        assert 1 <= len(server.requests) <= 3
        await until(lambda: not server.open, "the end of the connections")


async def test_a_cancelled_call_leaves_neither_a_permit_nor_a_connection_behind() -> None:
    async with raw_server(ending("stalled", HEAD)) as server, client_of(server.url, max_in_flight=1) as kit:
        for turn in range(3):
            call = asyncio.create_task(dns.read_statistics(kit.calls, 102))
            await server.until_asked(turn + 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        await until(lambda: not server.open, "the end of the connections")
        server.script = saying(reply(GOOD))
        got = await dns.read_statistics(kit.calls, 102)
    assert (got.value.total_queries_served, kit.heard.attempts) == (7, [("dns_statistics", "200", None)])


async def test_a_kept_connection_that_the_platform_closed_meanwhile_is_no_failure() -> None:
    async with raw_server(saying(reply(GOOD))) as server, client_of(server.url) as kit:
        await dns.read_statistics(kit.calls, 102)
        for line in list(server.open):
            line.writer.write_eof()
        await until(lambda: not server.open, "the end of the connections")
        await dns.read_statistics(kit.calls, 102)
    assert kit.heard.attempts == [("dns_statistics", "200", None)] * 2


OTHER = reply('{"TotalQueriesServed": 8}')


@pytest.mark.parametrize(
    ("unasked", "comes"),
    [(OTHER, "together"), (OTHER, "unread"), (OTHER, "read"), (OTHER[:20], "unread"), (b"\r\n", "unread")],
)
async def test_an_answer_that_nobody_asked_for_is_not_that_of_the_next_call(unasked: bytes, comes: str) -> None:
    is_together = comes == "together"
    async with raw_server(saying(reply(GOOD) + unasked if is_together else reply(GOOD))) as server:
        async with client_of(server.url) as kit:
            await dns.read_statistics(kit.calls, 102)
            for line in [] if is_together else list(server.open):
                # It is there, but unread, when the next call begins.
                line.writer.write(unasked)
            if comes == "read":
                await asyncio.sleep(0.1)
            server.script = saying(reply(GOOD.replace("7", "9")))
            got = await dns.read_statistics(kit.calls, 103)
        assert (got.value.total_queries_served, server.connections, len(server.requests)) == (9, 2, 2)
        assert kit.heard.attempts == [("dns_statistics", "200", None)] * 2


async def test_no_call_fails_for_kept_connections_that_are_reset_at_their_next_use() -> None:
    answered = set[Line]()

    async def answer_once(_request: RawRequest, line: Line) -> None:
        if line in answered:
            line.reset()
        answered.add(line)
        await line.send(reply(GOOD))

    async with raw_server(answer_once) as server, client_of(server.url, useful=math.inf, max_in_flight=16) as kit:
        await asyncio.gather(*(dns.read_statistics(kit.calls, zone) for zone in range(16)))
        assert server.connections == 16
        for zone in range(16):
            await dns.read_statistics(kit.calls, zone)
    assert kit.heard.attempts.count(("dns_statistics", "200", None)) == 32


async def test_a_kept_connection_is_used_while_no_other_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = AsyncMock(side_effect=ConnectionRefusedError)
    async with raw_server(saying(reply(GOOD))) as server, client_of(server.url) as kit:
        await dns.read_statistics(kit.calls, 102)
        monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", refused)
        two = await asyncio.gather(*(dns.read_statistics(kit.calls, zone) for zone in (1, 2)), return_exceptions=True)
        await dns.read_statistics(kit.calls, 102)
    assert (sum(isinstance(one, errors.Refused) for one in two), server.connections) == (1, 1)


@pytest.mark.parametrize(
    ("raised", "kind", "said"),
    [
        (TimeoutError(62, "s3cret"), errors.ConnectTimeout, "no connection within the time limit (h: Timer expired)"),
        (socket.gaierror(8, "unknown"), errors.NameFault, "the host name does not resolve (h: unknown)"),
        (aiohttp.InvalidURL("http://h/?k=s3cret"), errors.NameFault, "the host name does not resolve (h)"),
        (aiohttp.ClientError("s3cret"), errors.Reset, "the connection ended before the answer did (h)"),
        (ValueError("s3cret"), errors.TransportError, "the call failed (h: ValueError)"),
    ],
)
async def test_what_no_platform_brings_about_is_named_without_secrets(
    raised: Exception, kind: type[errors.PlatformError], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", AsyncMock(side_effect=raised))
    error, _ = await failure("http://127.0.0.1")
    assert (type(error), str(error).replace("127.0.0.1", "h")) == (kind, said)


@pytest.mark.skipif("max_headers" not in signature(ResponseHandler.set_response_params).parameters, reason="no limit")
async def test_an_answer_with_too_many_headers_is_named_so() -> None:
    async with raw_server(whole(200, GOOD, **{f"X_{number}": "a" for number in range(200)})) as server:
        error, _ = await failure(server.url)
    assert str(error).startswith("the head of the answer has over 128 headers, or a line over 8,190 bytes (127.")


async def test_the_key_follows_no_redirect() -> None:
    async with raw_server(saying(reply(GOOD))) as elsewhere:
        away = reply("", 307, Location=f"{elsewhere.url}/dnszone/102/statistics")
        async with raw_server(saying(away)) as server:
            error, _ = await failure(server.url)
    assert (type(error), str(error)) == (errors.Redirected, "the platform answered 307")
    assert (len(server.requests), elsewhere.requests, elsewhere.connections) == (1, [], 0)


async def test_a_look_up_that_hangs_and_that_the_next_call_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asyncio.Future[list[Any]]()
    monkeypatch.setattr("exporter.platform.http.transport.blocking", lambda *_args, **_more: found)
    async with client_of("http://a.example", time_limit=0.2) as kit:
        assert str(await kit.failure()) == "the host name does not resolve (a.example: the look-up did not end in time)"
        found.set_result([(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))])
        assert type(await kit.failure()) is errors.Refused


async def test_a_host_that_does_not_take_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, ExitStack() as waiting:
        # Once its queue is full, it lets further attempts wait.
        for _ in range(3):
            one = waiting.enter_context(socket.socket())
            one.settimeout(0)
            one.connect_ex(deaf.getsockname())
        error, attempts = await failure(f"http://127.0.0.1:{deaf.getsockname()[1]}", time_limit=0.4)
    assert (type(error), attempts) == (errors.ConnectTimeout, [("dns_statistics", "none", "connect_timeout")])


@pytest.mark.parametrize(
    ("host", "trusts", "says"),
    [
        ("127.0.0.1", False, "TLS failed ({}: unable to get local issuer certificate)"),
        ("elsewhere.example", True, "IP address mismatch, certificate is not valid for '127.0.0.1'"),
        ("127.0.0.1", True, ""),
    ],
    ids=["of an unknown authority", "of another host", "of a trusted authority"],
)
async def test_a_certificate_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, *, trusts: bool, says: str
) -> None:
    authority, context = Authority(tmp_path), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue(host))
    if trusts:
        # aiohttp has read SSL_CERT_FILE when it was imported.
        monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", authority.client())
    async with raw_server(saying(reply(GOOD)), context) as server:
        if not says:
            async with client_of(server.url) as kit:
                assert (await dns.read_statistics(kit.calls, 102)).value.total_queries_served == 7
            return
        error, _ = await failure(server.url)
    assert (type(error), server.requests) == (errors.TlsFault, [])
    assert says.format(server.url.removeprefix("https://")) in str(error)


async def test_a_port_that_does_not_speak_tls_and_a_handshake_that_stalls() -> None:
    async with listening(lambda line: line.send(b"220 mail.example ESMTP\r\n")) as port:
        error, _ = await failure(f"https://127.0.0.1:{port}")
    async with listening(Line.hung_up) as port:
        late, _ = await failure(f"https://127.0.0.1:{port}", time_limit=0.4)
    assert (type(error), type(late)) == (errors.TlsFault, errors.ConnectTimeout)
