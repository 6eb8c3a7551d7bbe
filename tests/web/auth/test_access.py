import asyncio
import base64
import threading
from pathlib import Path
from unittest.mock import AsyncMock

import bcrypt
import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from structlog.testing import capture_logs

from exporter.blocking import one_thread
from exporter.validation.faults import ConfigurationError
from exporter.web.auth.access import AccessControl, PasswordCheck
from exporter.web.auth.web_config import WebConfig
from exporter.web.server import WebServer
from tests.turned_clock import TurnedClock
from tests.waiting import PATIENCE, until
from tests.web.certificates import Authority

PASSWORD = "hunter2"
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
OTHER_HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
USERS = WebConfig.model_validate({"basic_auth_users": {"prometheus": HASH}})
OPEN = WebConfig()
LOCAL = ("127.0.0.1", 50_000)
REMOTE = ("192.0.2.7", 50_000)
KEY = b"k" * 32


async def answer(request: Request) -> PlainTextResponse:
    """Answer with the method and the path of the request."""
    return PlainTextResponse(f"{request.method} {request.url.path}", headers={"X-Frame-Options": "own", "X-Own": "1"})


def served(prefix: str = "") -> Starlette:
    """Make an application with the endpoints that access control treats in different ways."""
    methods = ["GET", "POST", "PUT", "DELETE"]
    paths = ("/", "/metrics", "/-/healthy", "/-/ready", "/-/reload")
    return Starlette(routes=[Route(prefix + path, answer, methods=methods) for path in paths])


def client_of(
    config: WebConfig | AccessControl, client: tuple[str, int] = REMOTE, prefix: str = "/"
) -> httpx.AsyncClient:
    """Make a client of the application behind the access control, or behind one with this configuration."""
    if isinstance(config, WebConfig):
        config = AccessControl(
            served(prefix.rstrip("/")), config, one_thread("passwords"), route_prefix=prefix, key=KEY
        )
    return httpx.AsyncClient(transport=httpx.ASGITransport(config, client=client), base_url="http://localhost:9877")


def basic(credentials: bytes, scheme: str = "Basic") -> str:
    """Return the header's value for a name and a password."""
    return f"{scheme} {base64.b64encode(credentials).decode()}"


@pytest.mark.parametrize(
    ("prefix", "method", "path", "status"),
    [
        *(("/", "GET", path, 401) for path in ("/", "/metrics", "/-/reload", "/none", "/-/healthy/", "//-/healthy")),
        ("/", "GET", "/-/healthy/../metrics", 401),
        *(("/", method, path, 200) for method in ("GET", "HEAD") for path in ("/-/healthy", "/-/ready")),
        *(("/edge", "GET", path, 200) for path in ("/edge/-/healthy", "/edge/-/ready")),
        ("/", "POST", "/-/healthy", 401),
        ("/edge", "GET", "/-/healthy", 401),
    ],
)
async def test_every_endpoint_asks_for_a_password_but_health_for_reading(
    prefix: str, method: str, path: str, status: int
) -> None:
    async with client_of(USERS, LOCAL, prefix) as client:
        response = await client.request(method, f"http://localhost:9877{path}")
    assert response.status_code == status
    if status == 401:
        assert response.headers["www-authenticate"] == 'Basic realm="edge-exporter", charset="UTF-8"'
        assert response.text == "a user name and a password are needed\n"


RIGHT = f"prometheus:{PASSWORD}".encode()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([basic(RIGHT)], 200),
        ([basic(RIGHT, "basic")], 200),
        ([basic(RIGHT)] * 2, 401),
        ([basic(RIGHT, "Bearer")], 401),
        *(
            ([basic(wrong)], 401)
            for wrong in (
                *(b"prometheus:hunter3", b"Prometheus:hunter2", b":hunter2", b"prometheus:", b"prometheus:a\0b"),
                *(b"no colon", b"prometheus:" + b"x" * 20_000, b"\xff\xfe:\xff"),
            )
        ),
        *(([malformed], 401) for malformed in ("", "Basic", f"{basic(RIGHT)}!", "Basic \xe9")),
    ],
)
async def test_only_the_right_name_and_password_are_accepted(headers: list[str], status: int) -> None:
    async with client_of(USERS) as client:
        given = [(b"Authorization", header.encode("latin-1")) for header in headers]
        answers = [await client.get("/metrics", headers=given), await client.post("/-/reload", headers=given)]
    assert [answer.status_code for answer in answers] == [status] * 2


async def test_a_password_longer_than_bcrypt_looks_is_compared_by_what_it_sees() -> None:
    long = "x" * 6141
    hashed = bcrypt.hashpw(long[:72].encode(), bcrypt.gensalt(4)).decode()
    async with client_of(WebConfig.model_validate({"basic_auth_users": {"me": hashed}})) as client:
        answers = [await client.get("/metrics", auth=("me", word)) for word in (long, f"{long}x")]
    # The longest credentials have 8 KiB in base64.
    assert [answer.status_code for answer in answers] == [200, 401]


HERE_ONLY = "changes are accepted from this machine only; configure basic auth for others\n"
BY_ADDRESS = "changes are accepted only if the Host is an IP address or localhost; configure basic auth for others\n"
ANOTHER_SITE = "a page of another site may not change anything here\n"
NO_CERTIFICATE = "changes need a client's certificate, which client_auth_type does not require; configure basic auth\n"


@pytest.mark.parametrize(
    ("client", "headers", "refusal"),
    [
        *((address, {}, "") for address in ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1")),
        *(
            (address, {}, HERE_ONLY)
            for address in ("192.0.2.7", "2001:db8::1", "::ffff:192.0.2.7", "localhost.example.org")
        ),
        *(
            ("127.0.0.1", {"Host": host}, "")
            for host in ("127.0.0.1:9877", "[::1]:9877", "192.0.2.7", "LOCALHOST", "a.localhost:9877")
        ),
        *(
            ("127.0.0.1", {"Host": host}, BY_ADDRESS)
            for host in (
                *("rebound.example.org:9877", "localhost.example.org", "127.0.0.1.example.org", "", "["),
                *("evil.example.org@127.0.0.1", "127.0.0.1@evil.example.org"),
            )
        ),
        ("127.0.0.1", {"Origin": "http://localhost:9877"}, ""),
        # A page of a name that resolves to this machine sends the name as its Origin, too.
        ("127.0.0.1", {"Host": "rebound.example.org", "Origin": "http://rebound.example.org"}, BY_ADDRESS),
        *(
            ("127.0.0.1", {"Origin": origin}, ANOTHER_SITE)
            for origin in ("http://elsewhere.example.org", "null", "http://[")
        ),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_without_a_password_this_machine_alone_changes_something(
    method: str, client: str, headers: dict[str, str], refusal: str
) -> None:
    async with client_of(OPEN, (client, 1)) as http:
        assert (await http.get("/metrics", headers=headers)).status_code == 200
        answer = await http.request(method, "/-/reload", headers=headers)
    assert (answer.status_code, answer.text) == ((403, refusal) if refusal else (200, f"{method} /-/reload"))
    async with client_of(USERS, REMOTE) as http:
        answer = await http.request(method, "/-/reload", headers=headers, auth=("prometheus", PASSWORD))
    assert answer.status_code == (403 if refusal == ANOTHER_SITE else 200)


@pytest.mark.parametrize(
    ("required", "refusal"), [("RequireAndVerifyClientCert", ""), ("VerifyClientCertIfGiven", NO_CERTIFICATE)]
)
async def test_a_client_certificate_is_enough_to_change_something_if_it_is_required(
    required: str, refusal: str
) -> None:
    # The files do not exist, because the test does not read them.
    tls = {"cert_file": "c", "key_file": "k", "client_ca_file": "a", "client_auth_type": required}
    async with client_of(WebConfig.model_validate({"tls_server_config": tls})) as client:
        answers = await client.get("/"), await client.post("/-/reload")
    assert [answer.text for answer in answers] == ["GET /", refusal or "POST /-/reload"]


async def test_the_configured_headers_are_on_every_answer() -> None:
    headers = {"X-Frame-Options": "deny", "Content-Security-Policy": "default-src 'self'"}
    config = WebConfig.model_validate(
        {"http_server_config": {"headers": headers}, "basic_auth_users": {"prometheus": HASH}}
    )
    async with client_of(config) as client:
        refused = await client.get("/metrics")
        answered = await client.get("/metrics", auth=("prometheus", PASSWORD))
    assert [response.headers.get_list("x-frame-options") for response in (refused, answered)] == [["deny"], ["deny"]]
    assert (refused.headers["content-security-policy"], answered.headers["x-own"]) == ("default-src 'self'", "1")


async def test_a_reload_keeps_passwords_whose_hash_is_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = counted(monkeypatch)
    app = AccessControl(served(), USERS, one_thread("passwords"), key=KEY)
    async with client_of(app) as client:
        for users in (
            USERS.basic_auth_users,
            {**USERS.basic_auth_users, "other": SecretStr(HASH)},
            {"prometheus": SecretStr(OTHER_HASH)},
        ):
            app.replace(WebConfig(basic_auth_users=users))
            assert (await client.get("/metrics", auth=("prometheus", PASSWORD))).status_code == 200
    assert [hashed.decode() for _, hashed in slow] == [HASH, OTHER_HASH]


async def test_websockets_are_refused_and_the_lifespan_passes() -> None:
    app, receive, send = AsyncMock(), AsyncMock(), AsyncMock()
    control = AccessControl(app, OPEN, one_thread("passwords"), key=KEY)
    await control({"type": "lifespan"}, receive, send)
    await control({"type": "websocket", "path": "/metrics", "headers": []}, receive, send)
    app.assert_awaited_once_with({"type": "lifespan"}, receive, send)
    send.assert_awaited_once_with({"type": "websocket.close", "code": 1008})


def counted(monkeypatch: pytest.MonkeyPatch, right: bytes = PASSWORD.encode()) -> list[tuple[bytes, bytes]]:
    """Replace bcrypt's slow check; returns the passwords and hashes that it is asked for. An empty `right` is any."""
    calls: list[tuple[bytes, bytes]] = []

    def check(password: bytes, hashed: bytes) -> bool:
        calls.append((password, hashed))
        return right in (b"", password)

    monkeypatch.setattr(bcrypt, "checkpw", check)
    return calls


@pytest.mark.parametrize(("password", "is_right", "checks"), [(PASSWORD, True, 1), ("wrong", False, 3)])
async def test_a_right_password_is_checked_once_and_a_wrong_one_every_time(
    monkeypatch: pytest.MonkeyPatch, password: str, checks: int, *, is_right: bool
) -> None:
    calls = counted(monkeypatch)
    check = PasswordCheck(USERS.basic_auth_users, KEY, one_thread("passwords"))
    admitted = [await check.admits(b"prometheus", password.encode()) for _ in range(3)]
    assert (admitted, calls) == ([is_right] * 3, [(password.encode(), HASH.encode())] * checks)


async def test_requests_that_come_together_share_one_check(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch)
    check = PasswordCheck(USERS.basic_auth_users, KEY, one_thread("passwords"))
    admitted = await asyncio.gather(*(check.admits(b"prometheus", PASSWORD.encode()) for _ in range(50)))
    assert (all(admitted), len(calls)) == (True, 1)


async def test_an_unknown_name_costs_what_a_wrong_password_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = counted(monkeypatch)
    hashes = {"one": HASH.replace("$04$", "$05$"), "two": HASH.replace("$04$", "$07$")}
    check = PasswordCheck(
        WebConfig.model_validate({"basic_auth_users": hashes}).basic_auth_users, KEY, one_thread("passwords")
    )
    names = [f"unknown{number}".encode() for number in range(40)]
    first = [await check.admits(name, PASSWORD.encode()) for name in names]
    second = [await check.admits(name, PASSWORD.encode()) for name in names]
    assert (first, second) == ([False] * 40, [False] * 40)
    assert {hashed[4:6] for _, hashed in slow} == {b"07"}


async def test_no_password_is_kept() -> None:
    check = PasswordCheck(USERS.basic_auth_users, KEY, one_thread("passwords"))
    await check.admits(b"prometheus", PASSWORD.encode())
    assert PASSWORD not in repr(vars(check))
    # What is remembered of it belongs to this name.
    assert not await check.admits(f"prometheus{HASH}".encode(), PASSWORD.encode())


async def test_the_loop_turns_while_a_password_is_checked() -> None:
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(10)).decode()
    check = PasswordCheck(
        WebConfig.model_validate({"basic_auth_users": {"me": hashed}}).basic_auth_users, KEY, one_thread("passwords")
    )
    turns = 0
    checking = asyncio.ensure_future(check.admits(b"me", b"wrong"))
    while not checking.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await checking, turns > 10) == (False, True)


async def test_the_real_server_applies_the_file_and_reads_it_again_at_a_reload(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.issue()
    path = tmp_path / "web.yml"
    tls = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
    headers = "http_server_config: {headers: {X-Content-Type-Options: nosniff}}\n"
    path.write_text(f"{tls}{headers}basic_auth_users: {{prometheus: {HASH}}}\n")
    server = WebServer("127.0.0.1", 0, path)
    await server.start(served())
    url = server.url.replace("127.0.0.1", "localhost")
    try:
        async with httpx.AsyncClient(verify=authority.client(), base_url=url, trust_env=False) as client:
            healthy = await client.get("/-/healthy")
            refused = await client.get("/metrics")
            answered = await client.get("/metrics", auth=("prometheus", PASSWORD))
            path.write_text("tls_server_config: {cert_file: none}\n")
            with pytest.raises(ConfigurationError):
                await server.reload()
            kept = await client.get("/metrics")
            path.write_text(tls)
            await server.reload()
            opened = await client.get("/metrics")
            path.write_text(tls.replace("}", ", max_version: TLS12}"))
            await server.reload()
            _, writer = await asyncio.open_connection(
                "127.0.0.1", server.port, ssl=authority.client(), server_hostname="localhost"
            )
            version = writer.get_extra_info("ssl_object").version()
            writer.close()
            path.write_text("")
            with capture_logs() as logs:
                await server.reload()
    finally:
        await server.stop()
    assert (url[:8], version) == ("https://", "TLSv1.2")
    statuses = [response.status_code for response in (healthy, refused, answered, kept, opened)]
    assert statuses == [200, 401, 200, 401, 200]
    assert answered.headers["x-content-type-options"] == "nosniff"
    assert [log["event"] for log in logs] == ["only a restart switches TLS on or off"]


@pytest.mark.parametrize(("host", "named"), [("", "localhost"), ("127.0.0.1", "127.0.0.1")])
async def test_the_server_is_named_by_its_address(host: str, named: str) -> None:
    server = WebServer(host, 0, None)
    url, port = server.url, server.port
    await server.stop()
    assert url == f"http://{named}:{port}"
    with pytest.raises(OSError, match="Bad file descriptor"):
        assert server.port


async def test_more_requests_than_the_limit_are_refused_until_there_is_room_again() -> None:
    clock = TurnedClock()
    config = WebConfig.model_validate({"rate_limit": {"interval": "2s", "burst": "3"}})
    async with client_of(AccessControl(served(), config, one_thread("passwords"), key=KEY, clock=clock)) as client:

        async def statuses(count: int, path: str = "/metrics") -> list[int]:
            return [(await client.get(path)).status_code for _ in range(count)]

        assert await statuses(4) == [200, 200, 200, 429]
        assert await statuses(2, "/-/healthy") == [200, 200]
        clock.now += 2
        assert await statuses(2) == [200, 429]
        clock.now += 60
        assert await statuses(4) == [200, 200, 200, 429]


async def test_many_wrong_passwords_are_refused_and_do_not_delay_one_that_was_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, quick, gate = counted(monkeypatch), bcrypt.checkpw, threading.Event()
    async with client_of(USERS) as client:
        assert (await client.get("/", auth=("prometheus", PASSWORD))).status_code == 200
        monkeypatch.setattr(bcrypt, "checkpw", lambda *given: gate.wait(PATIENCE) and quick(*given))
        wrong = [asyncio.create_task(client.get("/", auth=("prometheus", f"{number}"))) for number in range(200)]
        # One is checked, 127 wait, and the others are refused.
        await until(lambda: sum(map(asyncio.Task.done, wrong)) == 72)
        known = await client.get("/", auth=("prometheus", PASSWORD))
        gate.set()
        statuses = [(await answered).status_code for answered in wrong]
        later = await client.get("/", auth=("prometheus", "hunter3"))
    assert (known.status_code, later.status_code, len(slow)) == (200, 401, 130)
    assert (statuses.count(503), statuses.count(401)) == (72, 128)
