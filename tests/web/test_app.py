import gzip
from urllib.parse import urldefrag, urljoin

import httpx
import pytest

from exporter.targets.target import Target
from exporter.web.app import create_app
from exporter.web.parts import Round
from tests.web.rendered import Page
from tests.web.view_setup import endpoints_client, view_setup, zone

READING = [
    *("/", "/metrics", "/-/healthy", "/-/ready", "/api/v1/targets", "/api/v1/status", "/explain"),
    "/static/page.js",
]
UNKNOWN = [
    *("/metrics/", "//metrics", "/Metrics", "/metrics%00", "/metrics%20", "/favicon.svg", "/%00", "/-/", "/-/reload/"),
    *("/api", "/api/v1/", "/api/v1/x", "/api/v1/targets/", "/api/v2/targets", "/static/", "/static/page.py"),
    *("/static/../app.py", "/static/..%2fpage.py", "/static/%2e%2e%2f__init__.py", "/static//etc/passwd"),
    "/" + "a" * 8000,
]


@pytest.mark.parametrize("path", READING)
async def test_what_can_be_read_answers_get_and_head_and_nothing_else(path: str) -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        assert (await client.get(path)).status_code == 200
        assert (await client.head(path)).status_code == 200
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"):
            refused = await client.request(method, path)
            assert (refused.status_code, refused.text) == (405, "Method Not Allowed\n")
            assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD"}


@pytest.mark.parametrize("path", UNKNOWN)
async def test_the_answer_for_an_unknown_path_reveals_nothing(path: str) -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        response = await client.get(f"http://exporter:9877{path}", headers={"Host": "evil.example"})
    assert (response.status_code, response.text) == (404, "Not Found\n")
    assert "evil" not in str(response.headers)


@pytest.mark.parametrize("path", [*READING, "/nowhere", "/static/page.css"])
async def test_every_answer_keeps_browsers_from_doing_more_than_showing_it(path: str) -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        headers = (await client.get(path)).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
    assert (headers["referrer-policy"], headers["cross-origin-resource-policy"]) == ("no-referrer", "same-origin")
    assert ("server" in headers, "x-powered-by" in headers) == (False, False)
    for name in ("content-security-policy", "cache-control"):
        assert len(headers.get_list(name)) == 1


async def test_it_is_ready_after_discovery_and_then_remains() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        answers = []
        for setup.schedule.is_discovered in (False, True, False):
            answer = await client.get("/-/ready")
            answers.append((answer.status_code, answer.text))
    assert answers == [(503, "not ready: discovery has not ended\n"), *[(200, "ready\n")] * 2]


async def test_it_is_healthy_until_the_scheduler_the_ledger_or_the_renderer_stalls() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:

        async def health() -> tuple[int, str]:
            answer = await client.get("/-/healthy")
            status = (await client.get("/api/v1/status")).json()
            assert (status["healthy"], status["ailment"] or "healthy") == (answer.is_success, answer.text.strip())
            return answer.status_code, answer.text

        setup.turn(29)
        assert await health() == (200, "healthy\n")
        setup.rounds = {"lists": Round(5.0, setup.clock(), setup.wall() - 9)}
        assert (await client.get("/-/healthy")).text == "healthy\nlists: last success 9 s ago\n"
        setup.rounds.clear()
        setup.turn(1)
        assert await health() == (503, "the scheduler has stalled\n")
        setup.schedule.last_tick = setup.clock()
        setup.is_ledger_alive = False
        assert await health() == (503, "the ledger has stalled\n")
        setup.is_ledger_alive = True
        setup.turn(30)
        setup.schedule.last_tick = setup.clock()
        assert await health() == (503, "the exposition has stalled\n")


async def test_a_reload_is_confirmed_or_answers_with_every_fault_and_accepts_post_only() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        for method in ("GET", "HEAD", "PUT", "OPTIONS"):
            refused = await client.request(method, "/-/reload")
            assert (refused.status_code, refused.headers["allow"], setup.reloads) == (405, "POST", 0)
        confirmed = await client.post("/-/reload", content=b"ignored" * 1000)
        setup.faults = ("config.yml:3: wrong", "\udcff.yml:9: <b>worse</b>")
        faulty = await client.post("/-/reload")
    assert (confirmed.status_code, confirmed.text, setup.reloads) == (200, "reloaded\n", 2)
    assert (faulty.status_code, faulty.text) == (400, "config.yml:3: wrong\n\\udcff.yml:9: <b>worse</b>\n")
    assert faulty.headers["content-type"] == "text/plain; charset=utf-8"


async def test_the_answer_after_an_internal_error_reveals_nothing() -> None:
    async with view_setup() as setup:

        async def broken() -> tuple[str, ...]:
            raise RuntimeError("/home/somebody/secret")

        app = create_app(setup.parts, broken)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://exporter:9877") as client:
            response = await client.post("/-/reload")
    assert (response.status_code, response.text) == (500, "internal error; see the exporter's log\n")
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_pages_and_json_are_compressed_for_who_takes_it() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        for path in ("/", "/api/v1/status", "/static/page.css"):
            async with client.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as response:
                raw = b"".join([part async for part in response.aiter_raw()])
            plain = await client.get(path, headers={"Accept-Encoding": "identity"})
            assert (response.headers["content-encoding"], gzip.decompress(raw)) == ("gzip", plain.content)
            assert "content-encoding" not in plain.headers
            assert response.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
            assert int(response.headers["content-length"]) == len(raw) < len(plain.content) / 2


@pytest.mark.parametrize("prefix", ["/", "/tools/edge/"])
async def test_every_link_of_every_page_answers(prefix: str) -> None:
    home = f"http://exporter:9877{prefix}"
    async with view_setup() as setup, endpoints_client(setup, prefix) as client:
        setup.succeed(zone(101, "shop.example"))
        setup.fail(zone(102, "<b>&%"))
        setup.succeed(Target("main", "image", "a/b/c"), "container_tags")
        seen, left = set[str](), [home]
        while left:
            if (place := left.pop()) in seen:
                continue
            seen.add(place)
            answer = await client.get(place)
            assert answer.status_code in (200, 307), place
            if answer.headers.get("content-type", "").startswith("text/html"):
                own = [tag.get("href") or tag.get("src") or "" for _, tag in Page(answer.text).tags]
                found = (urldefrag(urljoin(place, link)).url for link in own)
                left += [link for link in found if link.startswith("http://exporter:9877/")]
    linked = ("target/dns_zone/102?account=main", "target/image/a/b/c?account=main", "api/v1/status")
    assert seen >= {home + path for path in linked}


@pytest.mark.parametrize("prefix", ["/edge", "/edge/", "/tools/edge"])
async def test_all_paths_are_below_the_prefix(prefix: str) -> None:
    async with view_setup() as setup, endpoints_client(setup, prefix) as client:
        bare = prefix.rstrip("/")
        for path in READING:
            assert (await client.get(bare + path)).status_code == 200
            assert (await client.get(path)).status_code == 404
        assert (await client.post(f"{bare}/-/reload")).text == "reloaded\n"
        home = await client.get(bare)
        assert (home.status_code, home.headers["location"]) == (307, "edge/")
        assert [(await client.get(bare + path)).status_code for path in (bare, "/metrics/")] == [404, 404]
