"""Each way in which a call can fail gives one error of one class, which is reported once to the observer."""

import asyncio
import gzip
import socket
import ssl
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exporter.platform.api import dns
from exporter.platform.api.shield import RATE_LIMIT
from exporter.platform.errors import (
    BodyTooLarge,
    ConnectTimeout,
    Deadline,
    EnvelopeError,
    Forbidden,
    NameFault,
    NotFound,
    NotHttp,
    NotJson,
    PlatformError,
    RateLimited,
    Redirected,
    Refused,
    Rejected,
    RequestTimeout,
    Reset,
    ServerError,
    TlsFault,
    Unauthorized,
    WrongShape,
)
from exporter.platform.operation import Operation, Request
from tests.platform.clients import Kit, client_of
from tests.platform.raw_server import (
    Line,
    Script,
    closing,
    dripping,
    json_reply,
    listening,
    raw_server,
    reply,
    resetting,
    saying,
    stalling,
)
from tests.waiting import until
from tests.web.certificates import Authority

MIB = 1024 * 1024
# Long enough for what comes before the stall, which takes milliseconds.
SHORT = 1.0
GOOD = '{"TotalQueriesServed": 7, "QueriesServedChart": {"2026-02-08T00:00:00Z": 7}}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
GZIPPED = {"Content-Encoding": "gzip"}


@dataclass(frozen=True)
class Fault:
    """A behaviour of the platform, and the resulting error."""

    script: Script
    kind: type[PlatformError]
    code: str
    retry_after: float | None = None
    timeout: float = 5.0
    operation: Operation[Any] = dns.STATISTICS


def status(code: int, body: str = "", **headers: str) -> Script:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return saying(reply(code, body, named))


def success(body: bytes | str, **headers: str) -> Script:
    return saying(reply(200, body, {name.replace("_", "-"): value for name, value in headers.items()}))


def failure_under(code: int) -> Script:
    body = '{"data": null, "error": {"success": false, "message": "no", "errorKey": "not_found.ratelimit_shieldzone"}}'
    return saying(json_reply(body, code))


LIMITED_UNTIL = {"Date": "Sun, 08 Feb 2026 12:00:00 GMT", "Retry-After": "Sun, 08 Feb 2026 12:00:42 GMT"}
BOMB = gzip.compress(b" " * (17 * MIB))

MATRIX = {
    "401": Fault(status(401), Unauthorized, "401"),
    "401 with a body that stalls": Fault(
        stalling(b"HTTP/1.1 401 No\r\nContent-Length: 9\r\n\r\n"), Unauthorized, "401", timeout=SHORT
    ),
    "403": Fault(status(403, '{"title": "Forbidden"}'), Forbidden, "403"),
    "404": Fault(status(404), NotFound, "404"),
    "408": Fault(status(408), RequestTimeout, "408"),
    "409": Fault(status(409), Rejected, "409"),
    "422": Fault(status(422, '{"title": "No", "errors": [{"field": "a", "message": "b"}]}'), Rejected, "422"),
    "429 without Retry-After": Fault(status(429), RateLimited, "429"),
    "429 with seconds": Fault(status(429, Retry_After="7"), RateLimited, "429", 7.0),
    "429 with a date": Fault(saying(reply(429, "", LIMITED_UNTIL)), RateLimited, "429", 42.0),
    "429 with a date of its own past": Fault(
        saying(reply(429, "", LIMITED_UNTIL | {"Retry-After": "Sun, 08 Feb 2026 11:00:00 GMT"})),
        RateLimited,
        "429",
        0.0,
    ),
    "429 with a Retry-After that is neither": Fault(status(429, Retry_After="soon"), RateLimited, "429"),
    "429 with a body in an encoding that is none": Fault(
        saying(reply(429, b"\x00\x01", GZIPPED | {"Retry-After": "7"})), RateLimited, "429", 7.0
    ),
    "429 with an endless body": Fault(dripping(b"HTTP/1.1 429 No\r\n\r\n", b" " * 65536, 0), RateLimited, "429"),
    "500": Fault(status(500, "oops"), ServerError, "500"),
    "502": Fault(status(502, "<html>Bad Gateway</html>"), ServerError, "502"),
    "503 with a date": Fault(saying(reply(503, "", LIMITED_UNTIL)), ServerError, "503", 42.0),
    "a redirect": Fault(status(302, Location="http://127.0.0.1:1/"), Redirected, "302"),
    "reset before the headers": Fault(resetting(), Reset, "none"),
    "reset in the headers": Fault(resetting(HEAD[:40]), Reset, "none"),
    "reset after the headers": Fault(resetting(HEAD), Reset, "200"),
    "reset in the body": Fault(resetting(HEAD + b'{"Total'), Reset, "200"),
    "closed without an answer": Fault(closing(), Reset, "none"),
    "read time-out": Fault(stalling(), Deadline, "none", timeout=SHORT),
    "headers that stall": Fault(stalling(HEAD[:40]), Deadline, "none", timeout=SHORT),
    "a body that stalls": Fault(stalling(HEAD + b"{"), Deadline, "200", timeout=SHORT),
    "a body that drips": Fault(dripping(HEAD), Deadline, "200", timeout=SHORT),
    "17 MiB": Fault(success(b" " * (17 * MIB)), BodyTooLarge, "200"),
    "17 MiB that are announced and never come": Fault(
        stalling(b"HTTP/1.1 200 OK\r\nContent-Length: 17825792\r\n\r\n"), BodyTooLarge, "200"
    ),
    "a body without end": Fault(dripping(CHUNKED, b"%x\r\n%s\r\n" % (MIB, b" " * MIB), 0), BodyTooLarge, "200"),
    "a gzip bomb": Fault(saying(reply(200, BOMB, GZIPPED)), BodyTooLarge, "200"),
    "gzip in gzip": Fault(saying(reply(200, BOMB, {"Content-Encoding": "gzip, gzip"})), NotJson, "200"),
    "an encoding that was not asked for": Fault(
        saying(reply(200, zlib.compress(GOOD.encode()), {"Content-Encoding": "deflate"})), NotJson, "200"
    ),
    "gzip that is none": Fault(saying(reply(200, GOOD, GZIPPED)), NotJson, "200"),
    "gzip that is cut off": Fault(saying(reply(200, gzip.compress(GOOD.encode())[:-9], GZIPPED)), NotJson, "200"),
    "an empty body": Fault(success(""), NotJson, "200"),
    "no content": Fault(status(204), NotJson, "204"),
    "HTML": Fault(success("<!doctype html><title>Sign in</title>"), NotJson, "200"),
    "truncated JSON": Fault(success(GOOD[:-9]), NotJson, "200"),
    "a length larger than the body": Fault(closing(HEAD + GOOD.encode()), Reset, "200"),
    "chunks that end too soon": Fault(
        closing(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"Tot\r\n'), Reset, "200"
    ),
    "wrong types": Fault(success('{"TotalQueriesServed": {"a": 1}}'), WrongShape, "200"),
    "an envelope failure under 200": Fault(failure_under(200), EnvelopeError, "200", operation=RATE_LIMIT),
    "an envelope failure under 202": Fault(failure_under(202), EnvelopeError, "202", operation=RATE_LIMIT),
    "garbage for HTTP": Fault(saying(b"\x16\x03\x01 garbage\r\n\r\n"), NotHttp, "none"),
    "a header that is too long": Fault(saying(b"HTTP/1.1 200 OK\r\nX: " + b"x" * MIB + b"\r\n\r\n"), NotHttp, "none"),
}


async def fail(kit: Kit, operation: Operation[Any] = dns.STATISTICS) -> PlatformError:
    """Return the error of a call."""
    with pytest.raises(PlatformError) as caught:
        await kit.calls.call(Request(operation, path={"id": 102}))
    return caught.value


@pytest.mark.parametrize("fault", MATRIX.values(), ids=MATRIX)
async def test_a_fault_is_one_error_of_its_class(fault: Fault) -> None:
    async with raw_server(fault.script) as server, client_of(server.url, deadline=fault.timeout) as kit:
        error = await fail(kit, fault.operation)
    status = int(fault.code) if fault.code.isdecimal() else 0
    assert (type(error), error.status, error.retry_after) == (fault.kind, status, fault.retry_after)
    assert kit.heard.attempts == [(fault.operation.name, fault.code, fault.kind.reason)]
    assert (len(server.requests), server.connections) == (1, 1)


@pytest.mark.parametrize("name", ["read time-out", "a body that drips", "a gzip bomb", "401 with a body that stalls"])
async def test_a_call_that_failed_leaves_neither_a_permit_nor_a_connection_behind(name: str) -> None:
    fault = MATRIX[name]
    async with raw_server(fault.script) as server:
        async with client_of(server.url, deadline=fault.timeout, max_in_flight=1) as kit:
            for _ in range(3):
                await fail(kit)
        # On a busy machine a deadline of milliseconds may pass before the server has read the request.
        assert 1 <= len(server.requests) <= 3
        await until(lambda: not server.open, "the end of the connections")


async def test_a_cancelled_call_leaves_neither_a_permit_nor_a_connection_behind() -> None:
    async with raw_server(stalling(HEAD)) as server, client_of(server.url, max_in_flight=1) as kit:
        for turn in range(3):
            call = asyncio.create_task(dns.statistics(kit.calls, 102))
            await server.until_asked(turn + 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        await until(lambda: not server.open, "the end of the connections")
        server.script = saying(json_reply(GOOD))
        answer = await dns.statistics(kit.calls, 102)
    assert (answer.value.total_queries_served, kit.heard.attempts) == (7, [("dns_statistics", "200", None)])


async def test_a_kept_connection_that_the_platform_closed_meanwhile_is_no_failure() -> None:
    async with raw_server(saying(json_reply(GOOD))) as server, client_of(server.url) as kit:
        await dns.statistics(kit.calls, 102)
        for line in list(server.open):
            line.writer.write_eof()
        await until(lambda: not server.open, "the end of the connections")
        await dns.statistics(kit.calls, 102)
    assert kit.heard.attempts == [("dns_statistics", "200", None)] * 2


async def test_the_key_follows_no_redirect() -> None:
    async with raw_server(saying(json_reply(GOOD))) as elsewhere:
        away = saying(reply(307, "", {"Location": f"{elsewhere.url}/dnszone/102/statistics"}))
        async with raw_server(away) as server, client_of(server.url) as kit:
            error = await fail(kit)
    assert (type(error), str(error)) == (Redirected, "the platform answered 307")
    assert (len(server.requests), elsewhere.requests, elsewhere.connections) == (1, [], 0)


async def test_nothing_listens_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with client_of(f"http://127.0.0.1:{port}") as kit:
            error = await fail(kit)
    assert (type(error), str(error)) == (
        Refused,
        f"nothing accepts connections there (127.0.0.1:{port}: Connection refused)",
    )


async def test_a_name_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    async with client_of("http://platform.invalid") as kit:
        error = await fail(kit)
    assert (type(error), str(error)) == (
        NameFault,
        "the host name does not resolve (platform.invalid: Name or service not known)",
    )


async def test_a_host_that_does_not_take_the_connection() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        # Once its queue is full, it lets further attempts wait.
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.settimeout(0)
            one.connect_ex(deaf.getsockname())
        async with client_of(f"http://127.0.0.1:{deaf.getsockname()[1]}", deadline=SHORT) as kit:
            error = await fail(kit)
        for one in waiting:
            one.close()
    assert (type(error), error.reason, kit.heard.attempts) == (
        ConnectTimeout,
        "connect_timeout",
        [("dns_statistics", "none", "connect_timeout")],
    )


def server_tls(authority: Authority, host: str) -> ssl.SSLContext:
    """The server's side of TLS, with a certificate for a host."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue(host))
    return context


async def test_a_certificate_of_an_unknown_authority(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = server_tls(authority, "127.0.0.1")
    async with raw_server(saying(json_reply(GOOD)), context) as server, client_of(server.url) as kit:
        error = await fail(kit)
    assert (type(error), server.requests) == (TlsFault, [])
    assert str(error) == (f"the TLS handshake failed (127.0.0.1:{server.port}: unable to get local issuer certificate)")


async def test_a_certificate_of_another_host(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = server_tls(authority, "elsewhere.example")
    ca_file = str(authority.file)
    async with raw_server(saying(json_reply(GOOD)), context) as server, client_of(server.url, ca_file=ca_file) as kit:
        error = await fail(kit)
    assert (type(error), server.requests) == (TlsFault, [])
    assert "IP address mismatch, certificate is not valid for '127.0.0.1'" in str(error)


async def test_a_certificate_of_a_configured_authority_is_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = server_tls(authority, "127.0.0.1")
    ca_file = str(authority.file)
    async with raw_server(saying(json_reply(GOOD)), context) as server, client_of(server.url, ca_file=ca_file) as kit:
        answer = await dns.statistics(kit.calls, 102)
    assert answer.value.total_queries_served == 7


async def test_a_port_that_does_not_speak_tls() -> None:
    async def greet(line: Line) -> None:
        await line.send(b"220 mail.example ESMTP\r\n")

    async with listening(greet) as port, client_of(f"https://127.0.0.1:{port}") as kit:
        error = await fail(kit)
    assert type(error) is TlsFault


async def test_a_handshake_that_stalls() -> None:
    async with listening(Line.hung_up) as port, client_of(f"https://127.0.0.1:{port}", deadline=SHORT) as kit:
        error = await fail(kit)
    assert type(error) is ConnectTimeout
