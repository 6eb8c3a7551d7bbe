import asyncio
import base64
import threading
from pathlib import Path
from unittest.mock import Mock

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
from exporter.validation.configuration_errors import ConfigurationError
from exporter.web.auth.access import AccessControl
from exporter.web.auth.web_config import WebConfig, load_web_config
from exporter.web.server import WebServer
from tests.waiting import PATIENCE, until
from tests.web.certificates import Authority
from tests.web.view_setup import serving

PASSWORD = "hunter2"
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
OTHER_HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
USERS = WebConfig.model_validate({"basic_auth_users": {"prometheus": HASH}})
TLS = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
LOCAL = ("127.0.0.1", 50_000)
REMOTE = ("192.0.2.7", 50_000)


async def answer(request: Request) -> PlainTextResponse:
    """Answer with the method and the path of the request."""
    return PlainTextResponse(f"{request.method} {request.url.path}", headers={"X-Frame-Options": "own", "X-Own": "1"})


def served(prefix: str = "") -> Starlette:
    """Make an application with the endpoints that access control treats in different ways."""
    methods = ["GET", "POST", "PUT", "DELETE"]
    paths = ("/", "/metrics", "/-/healthy", "/-/ready", "/-/reload")
    return Starlette(routes=[Route(prefix + path, answer, methods=methods) for path in paths])


def client_of(
    config: WebConfig | AccessControl, client: tuple[str, int] | None = REMOTE, prefix: str = "/"
) -> httpx.AsyncClient:
    """Make a client of the application behind the access control, or behind one with this configuration."""
    if isinstance(config, WebConfig):
        config = AccessControl(served(prefix.rstrip("/")), config, one_thread("passwords"), route_prefix=prefix)
    transport = httpx.ASGITransport(config, client=client)  # type: ignore[arg-type]
    return httpx.AsyncClient(transport=transport, base_url="http://localhost:9877")


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
        assert response.text == "a valid user name and password are needed\n"


RIGHT = f"prometheus:{PASSWORD}".encode()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([basic(RIGHT)], 200),
        ([basic(RIGHT, "basic")], 200),
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
    long = "x:" * 3000
    hashed = bcrypt.hashpw(long[:72].encode(), bcrypt.gensalt(4)).decode()
    async with client_of(WebConfig.model_validate({"basic_auth_users": {"me": hashed}})) as client:
        answers = [await client.get("/metrics", auth=("me", word)) for word in (long, f"{long}x")]
    assert [answer.status_code for answer in answers] == [200, 200]


HERE_ONLY = "changes from this address are refused; use loopback, or configure basic auth\n"
A_PAGE = "a web page may not change anything here\n"


@pytest.mark.parametrize(
    ("client", "headers", "refusal"),
    [
        # One that has disconnected already.
        (None, {}, HERE_ONLY),
        *((address, {}, "") for address in ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1")),
        *((address, {}, HERE_ONLY) for address in ("192.0.2.7", "2001:db8::1", "::ffff:192.0.2.7")),
        ("127.0.0.1", {"Host": "exporter.example.org:9877"}, ""),
        # A page of a name that resolves to this machine sends the name as its Origin, too.
        *(
            ("127.0.0.1", {"Host": host, "Origin": origin}, A_PAGE)
            for host, origin in (
                ("localhost:9877", "http://elsewhere.example.org"),
                ("localhost:9877", "null"),
                ("rebound.example.org", "http://rebound.example.org"),
            )
        ),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_without_a_password_this_machine_alone_changes_something_and_no_page(
    method: str, client: str | None, headers: dict[str, str], refusal: str
) -> None:
    async with client_of(WebConfig(), (client, 1) if client else None) as http:
        assert (await http.get("/metrics", headers=headers)).status_code == 200
        answer = await http.request(method, "/-/reload", headers=headers)
    assert (answer.status_code, answer.text) == ((403, refusal) if refusal else (200, f"{method} /-/reload"))
    async with client_of(USERS, REMOTE) as http:
        answer = await http.request(method, "/-/reload", headers=headers, auth=("prometheus", PASSWORD))
    assert answer.status_code == (403 if refusal == A_PAGE else 200)


async def test_the_configured_headers_are_on_every_answer() -> None:
    headers = {"X-Frame-Options": "deny", "Content-Security-Policy": "default-src 'self'", "X-XSS-Protection": ""}
    config = WebConfig.model_validate(
        {"http_server_config": {"headers": headers}, "basic_auth_users": {"prometheus": HASH}}
    )
    async with client_of(config) as client:
        refused = await client.get("/metrics")
        answered = await client.get("/metrics", auth=("prometheus", PASSWORD))
    assert [response.headers.get_list("x-frame-options") for response in (refused, answered)] == [["deny"], ["deny"]]
    assert (refused.headers["content-security-policy"], answered.headers["x-own"]) == ("default-src 'self'", "1")
    assert "x-xss-protection" not in answered.headers


def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """Note the passwords and hashes of bcrypt's slow checks."""
    calls, check = list[tuple[bytes, bytes]](), bcrypt.checkpw

    def noting(password: bytes, hashed: bytes) -> bool:
        calls.append((password, hashed))
        return check(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", noting)
    return calls


async def test_a_right_password_is_checked_once_for_each_hash_and_a_wrong_one_every_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = counted(monkeypatch)
    app = AccessControl(served(), USERS, one_thread("passwords"))
    async with client_of(app) as client:

        async def statuses(password: str) -> set[int]:
            asked = (client.get("/metrics", auth=("prometheus", password)) for _ in range(3))
            return {answered.status_code for answered in await asyncio.gather(*asked)}

        assert (await statuses(PASSWORD), await statuses(PASSWORD), await statuses("wrong")) == ({200}, {200}, {401})
        for users in ({**USERS.basic_auth_users, "other": SecretStr(HASH)}, {"prometheus": SecretStr(OTHER_HASH)}):
            app.replace(WebConfig(basic_auth_users=users))
            assert await statuses(PASSWORD) == {200}
    right, wrong = PASSWORD.encode(), b"wrong"
    assert slow == [(right, HASH.encode()), *[(wrong, HASH.encode())] * 3, (right, OTHER_HASH.encode())]
    assert PASSWORD not in repr(vars(app))


async def test_an_unknown_name_costs_what_a_wrong_password_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = counted(monkeypatch)
    words = {PASSWORD: 4, "other": 5}
    hashes = [bcrypt.hashpw(word.encode(), bcrypt.gensalt(cost)).decode() for word, cost in words.items()]
    users = WebConfig.model_validate({"basic_auth_users": dict(zip("ab", hashes, strict=True))})
    async with client_of(users) as client:
        answers = [await client.get("/metrics", auth=(f"unknown{number}", "other")) for number in range(3)]
        # Without credentials, nothing is checked.
        answers += [await client.get("/metrics", headers={"Authorization": odd}) for odd in ("", "Basic", "Basic bm8=")]
        assert [answer.status_code for answer in answers] == [401] * 6
        assert [hashed.decode() for _, hashed in slow] == hashes[1:] * 3
        known = [await client.get("/metrics", auth=("a", word)) for word in words]
    assert [answer.status_code for answer in known] == [200, 401], "a user has a password of their own"


async def test_the_real_server_applies_the_file_and_reads_it_again_at_a_reload(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.issue()
    path = tmp_path / "web.yml"
    headers = "http_server_config: {headers: {X-Content-Type-Options: nosniff}}\n"
    path.write_text(f"{TLS}basic_auth_users: {{prometheus: {HASH}}}\n")
    async with serving(served(), ready=lambda _scope: ([(b"content-length", b"0")], b""), file=path) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        async with httpx.AsyncClient(verify=authority.client(), base_url=url, trust_env=False) as client:
            healthy = await client.get("/-/healthy")
            refused = await client.get("/metrics")
            answered = await client.get("/metrics", auth=("prometheus", PASSWORD))
            path.write_text("tls_server_config: {cert_file: none}\n")
            with pytest.raises(ConfigurationError):
                await server.reload()
            kept = await client.get("/metrics")
            path.write_text(TLS + headers)
            await server.reload()
            opened = await client.get("/metrics")
            path.write_text(TLS.replace("}", ", max_version: TLS12}"))
            await server.reload()
            ready = await client.get("/metrics")
            _, writer = await asyncio.open_connection(
                "127.0.0.1", server.port, ssl=authority.client(), server_hostname="localhost"
            )
            version = writer.get_extra_info("ssl_object").version()
            writer.close()
            path.write_text("rate_limit: {interval: 1s, burst: 1}")
            with capture_logs() as logs:
                await server.reload()
    assert (url[:8], version) == ("https://", "TLSv1.2")
    statuses = [response.status_code for response in (healthy, refused, answered, kept, opened)]
    assert statuses == [200, 401, 200, 401, 200]
    assert opened.headers["x-content-type-options"] == "nosniff"
    assert (bool(opened.content), ready.content) == (True, b"")
    assert [log["event"] for log in logs] == [
        "only a restart switches TLS on or off",
        "a key of the web configuration has no effect",
    ]


async def test_a_tls_file_that_is_damaged_after_its_check_is_a_fault_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, (_, key) = tmp_path / "web.yml", Authority(tmp_path).issue()
    path.write_text(TLS)
    good, fault = key.read_text(), "^tls_server_config.key_file: is encrypted"
    load = Mock(side_effect=lambda file: (load_web_config(file), key.write_text("half a file"))[0])
    async with serving(served(), file=path) as server:
        monkeypatch.setattr("exporter.web.server.load_web_config", load)
        with pytest.raises(ConfigurationError, match=fault):
            await server.reload()
    key.write_text(good)
    with pytest.raises(ConfigurationError, match=fault):
        WebServer("127.0.0.1", 0, path)


@pytest.mark.parametrize(
    ("before", "required", "statuses"),
    [
        (TLS, "RequireAndVerifyClientCert", [403, 200]),
        (TLS, "VerifyClientCertIfGiven", [403, 403]),
        # Only a restart would switch TLS on.
        ("{}", "RequireAndVerifyClientCert", [403, 403]),
    ],
)
async def test_a_client_certificate_is_enough_to_change_something_if_it_is_required_and_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, required: str, statuses: list[int]
) -> None:
    monkeypatch.setattr("exporter.web.auth.access._is_loopback", lambda _client: False)
    authority, path = Authority(tmp_path), tmp_path / "web.yml"
    authority.issue()
    path.write_text(before)
    contexts = authority.client(), authority.client(authority.issue("prometheus.example", "client"))
    async with serving(served(), file=path) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        stranger, known = (httpx.AsyncClient(verify=context, base_url=url, trust_env=False) for context in contexts)
        async with stranger, known:
            # This connection stays open.
            await stranger.get("/metrics")
            path.write_text(TLS.replace("}", f", client_auth_type: {required}, client_ca_file: ca.pem}}"))
            with capture_logs() as logs:
                await server.reload()
            answers = [await client.post("/-/reload") for client in (stranger, known)]
    assert [answer.status_code for answer in answers] == statuses
    assert [log["event"] for log in logs] == ["only a restart switches TLS on or off"] * (before != TLS)


async def test_many_wrong_passwords_are_refused_and_do_not_delay_one_that_was_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, gate = counted(monkeypatch), threading.Event()
    quick = bcrypt.checkpw
    async with client_of(USERS) as client:
        assert (await client.get("/", auth=("prometheus", PASSWORD))).status_code == 200
        monkeypatch.setattr(bcrypt, "checkpw", lambda *given: gate.wait(PATIENCE) and quick(*given))
        wrong = [asyncio.create_task(client.get("/", auth=("prometheus", f"{number}"))) for number in range(200)]
        # The loop turns while one is checked, 127 wait, and the others are refused.
        await until(lambda: sum(map(asyncio.Task.done, wrong)) == 72)
        known = await client.get("/", auth=("prometheus", PASSWORD))
        gate.set()
        statuses = [(await answered).status_code for answered in wrong]
        later = await client.get("/", auth=("prometheus", "hunter3"))
    assert (known.status_code, later.status_code, len(slow)) == (200, 401, 130)
    assert (statuses.count(503), statuses.count(401)) == (72, 128)
