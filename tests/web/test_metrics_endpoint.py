"""`/metrics`, through a client."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporter.collectors.catalogue import families
from exporter.collectors.collector import Outcome
from exporter.exposition.exposition import Format
from exporter.metric import Family, Sample
from exporter.targets.selection import Selection
from exporter.web.metrics_endpoint import LARGEST_AT_ONCE, MOST_VALUES, STRETCH_PIECES
from tests.web.view_setup import STATISTICS, ViewSetup, serving, view_setup, zone

INFOS = {info.name: info for info in families()}
PARTS, TOTAL = INFOS["edge_dns_window_record_queries"], INFOS["edge_dns_queries_total"]
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
DATE = re.compile(rb"date: [^\r]*\r\n")
SCRAPE = {"type": "http", "method": "GET", "path": "/metrics", "headers": [], "query_string": b""}


@dataclass(frozen=True)
class Site:
    """The endpoints, and the parts that they read."""

    setup: ViewSetup
    app: ASGIApp

    def text(self, form: Format = Format.TEXT) -> bytes:
        """Return the current generation, uncompressed."""
        return b"".join(self.setup.renderer.current.bodies[form].plain())

    def client(self) -> httpx.AsyncClient:
        """Return a client that needs no socket."""
        transport = httpx.ASGITransport(self.app)
        return httpx.AsyncClient(transport=transport, base_url="http://exporter", headers={"Accept-Encoding": ""})


def publish_poll(setup: ViewSetup, number: int, parts: int, total: float) -> None:
    labels = ("main", str(number), "")
    samples = tuple(Sample((*labels, str(part)), number * 7919.0 + part) for part in range(parts))
    counter = Family(TOTAL, (Sample(labels, total),))
    outcome = Outcome(zone(number), (Family(PARTS, samples), counter))
    setup.store.publish(STATISTICS, outcome, duration=0.1)


@asynccontextmanager
async def site(zones: int = 3, parts: int = 2, may_serve: Callable[[], bool] = lambda: True) -> AsyncIterator[Site]:
    """The endpoints with some zones."""
    async with view_setup() as setup:
        setup.registry.configure([Selection("main", "dns_zone", (zone(101),))])
        for number in range(1, zones + 1):
            publish_poll(setup, number, parts, 1.0)
        await setup.renderer.render()
        setup.may_serve = may_serve
        yield Site(setup, setup.app())


def line(number: int, total: float = 1.0) -> str:
    """Return the counter's line of a zone."""
    return f'edge_dns_queries_total{{account="main",domain="",zone_id="{number}"}} {total}'


async def receive() -> Message:
    """Receive the end of a request without a body."""
    return {"type": "http.request", "body": b"", "more_body": False}


@pytest.mark.parametrize("form", list(Format))
async def test_a_scrape_gives_the_current_generation_in_the_requested_format(form: Format) -> None:
    async with site() as small, small.client() as client:
        answer = await client.get("/metrics", headers={"Accept": form.value})
        head = await client.head("/metrics", headers={"Accept": form.value})
    assert (answer.status_code, answer.content) == (200, small.text(form))
    assert head.headers == answer.headers
    assert answer.headers["content-type"] == form.value
    assert answer.headers["content-length"] == str(len(answer.content))
    assert (answer.headers["vary"], answer.headers["cache-control"]) == ("Accept, Accept-Encoding", "no-store")


PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
FORMATS = {
    Format.OPENMETRICS: [
        *(PROMETHEUS_2, PROMETHEUS_3, "application/openmetrics-text"),
        "Application/OpenMetrics-Text; Version=1.0.0",
        'application/openmetrics-text; version="1.0.0"',
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.5",
        "text/plain;q=0.1 , application/openmetrics-text ; q=0.2",
        # The most specific range decides the preference for text.
        "application/openmetrics-text;q=0.5,text/plain;q=0.1,*/*",
    ],
    Format.TEXT: [
        *("", "*/*", BROWSER, "text/plain;version=0.0.4", "application/json", ";;,,=;q"),
        *(
            f"application/openmetrics-text;{odd}"
            for odd in ("version=0.0.1", "version=2.0.0", "q=0", "Q=0", "q=x", "q=nan")
        ),
        "application/openmetrics-text;q=0.2,text/plain;q=0.3,text/plain;q=0.1",
        "application/openmetrics-text;q=0.2,*/*",
        "application/openmetrics-text;q=0.2,text/plain;version=0.0.4;q=0.3",
        "application/openmetrics-text;q=0.2,text/*;q=0.5,*/*;q=0.1",
    ],
}
PACKED = ["gzip", "GZIP", "x-gzip", "deflate, gzip;q=0.5", "*", "br, *;q=0.1", "gzip;q=2"]
PLAIN = ["", "identity", "deflate, br", "gzip;q=0", "gzip;Q=0", "gzip;q=0, *", "*;q=0", "gzip;q=x", "gzipped"]


async def test_a_client_gets_the_format_and_the_encoding_that_it_prefers() -> None:
    async with site(zones=1) as small, small.client() as client:
        for form, headers in FORMATS.items():
            for accept in headers:
                answer = await client.get("/metrics", headers={"Accept": accept})
                assert (accept, answer.headers["content-type"]) == (accept, form.value)
        for accepted in (*PACKED, *PLAIN):
            answer = await client.get("/metrics", headers={"Accept-Encoding": accepted})
            assert (accepted, "content-encoding" in answer.headers) == (accepted, accepted in PACKED)


@pytest.mark.parametrize("form", list(Format))
@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize("query", ["", "?name[]=edge_dns_queries_total", "?target=dns_zone/1"])
async def test_counters_are_left_out_while_another_exporter_may_count(form: Format, encoding: str, query: str) -> None:
    may_serve = [True]
    async with site(may_serve=lambda: may_serve[0]) as small, small.client() as client:
        headers = {"Accept": form.value, "Accept-Encoding": encoding}
        before = (await client.get(f"/metrics{query}", headers=headers)).text
        may_serve[0] = False
        meanwhile = (await client.get(f"/metrics{query}", headers=headers)).text
        may_serve[0] = True
        after = (await client.get(f"/metrics{query}", headers=headers)).text
    assert "edge_dns_queries_total{" in before
    assert "edge_dns_queries" not in meanwhile
    assert ("edge_dns_window_record_queries{" in meanwhile) == ("edge_dns_window_record_queries{" in before)
    assert after == before


@pytest.mark.parametrize(
    ("method", "path", "encoding", "may_serve", "largest", "of_application"),
    [
        ("GET", "/metrics", "gzip", True, LARGEST_AT_ONCE, 1),
        ("GET", "/metrics", "gzip", True, 0, 2),
        ("GET", "/metrics", "gzip", False, LARGEST_AT_ONCE, 2),
        ("GET", "/metrics", "identity", True, LARGEST_AT_ONCE, 2),
        ("GET", "/metrics?name[]=edge_dns_queries_total", "gzip", True, LARGEST_AT_ONCE, 2),
        ("HEAD", "/metrics", "gzip", True, LARGEST_AT_ONCE, 2),
        ("GET", "/static/icon.svg", "gzip", True, LARGEST_AT_ONCE, 2),
    ],
)
async def test_a_ready_answer_is_what_the_application_gives(
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    encoding: str,
    of_application: int,
    *,
    may_serve: bool,
    largest: int,
) -> None:
    monkeypatch.setattr("exporter.web.metrics_endpoint.LARGEST_AT_ONCE", largest)
    reached = list[str]()
    async with site(may_serve=lambda: may_serve) as small:
        app = small.setup.app("/edge")

        async def noting(scope: Scope, receive: Receive, send: Send) -> None:
            reached.append(scope["path"])
            await app(scope, receive, send)

        async with serving(noting, "/edge", app.ready) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            kept = f"{method} /edge{path} HTTP/1.1\r\nAccept-Encoding: {encoding}\r\n"
            writer.write(f"{kept}\r\n{kept}Connection: close\r\n\r\n".encode())
            first, last = DATE.sub(b"", await reader.read()).split(b"HTTP/1.1 200 OK\r\n")[1:]
            writer.close()
    # Without counters each answer is rendered again, with the present values of the process's own metrics.
    assert not may_serve or last.replace(b"connection: close\r\n", b"") == first
    assert len(reached) == of_application


async def test_counters_are_left_out_where_the_session_ends_while_a_part_is_rendered() -> None:
    async with site(may_serve=iter([True, False, False]).__next__) as small, small.client() as client:
        text = (await client.get("/metrics?target=dns_zone/1")).text
    assert "edge_dns_queries_total{" not in text
    assert "edge_dns_window_record_queries{" in text


async def test_accept_headers_on_several_lines_count_together() -> None:
    async with site() as small, small.client() as client:
        accepted = [("Accept", "text/html"), ("Accept", OPENMETRICS)]
        headers = [*accepted, ("Accept-Encoding", "br"), ("Accept-Encoding", "gzip")]
        # Other parameters are ignored.
        answer = await client.get("/metrics?debug=1&names[]=x", headers=headers)
    assert (answer.headers["content-type"], answer.headers["content-encoding"]) == (Format.OPENMETRICS.value, "gzip")
    assert answer.content == small.text(Format.OPENMETRICS)


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("name[]=edge_dns_queries_total&target=dns_zone/2", [line(2)]),
        ("name[]=edge_dns_queries&target=dns_zone%2F2", [line(2)]),
        ("target=dns_zone/1&target=dns_zone/3&name[]=edge_dns_queries_total", [line(1), line(3)]),
        ("collect[]=scripts", []),
        ("target=dns_zone/101", []),  # It is known, and was not polled yet.
        ("name[]=edge_exporter_ledger_up", ["edge_exporter_ledger_up 1.0"]),
        ("name[]=", []),
        ("name[]=edge_unknown", []),
    ],
)
async def test_filters_choose_what_is_sent(query: str, lines: list[str]) -> None:
    async with site() as small, small.client() as client:
        before = small.setup.renderer.current
        answer = await client.get(f"/metrics?{query}")
        packed = await client.get(f"/metrics?{query}", headers={"Accept-Encoding": "gzip"})
        assert small.setup.renderer.current is before
    assert [line for line in answer.text.splitlines() if not line.startswith("#")] == lines
    assert (packed.headers["content-encoding"], packed.content) == ("gzip", answer.content)


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("collect[]=script", 400, "no collector 'script' is enabled; there are: container_tags, "),
        ("target=dns_zone/4", 404, "'dns_zone/4' is not polled here; /api/v1/targets lists the targets\n"),
        ("target=", 404, "'' is not polled here; /api/v1/targets lists the targets\n"),
        ("target=https://example.net/" + "x" * 500, 404, "https://example.net/"),
        ("&".join(["a=1"] * (MOST_VALUES + 1)), 400, "there are more than 1000 parameters\n"),
    ],
)
async def test_a_wrong_filter_is_refused_with_its_reason(query: str, status: int, words: str) -> None:
    async with site() as small, small.client() as client:
        answer = await client.get(f"/metrics?{query}")
    assert (answer.status_code, words in answer.text, len(answer.text) < 400) == (status, True, True)


async def test_scrapes_at_once_are_sent_the_same_bytes_and_the_loop_turns_meanwhile() -> None:
    async with site(zones=300, parts=100) as large:
        sent: list[list[bytes]] = []
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def scrape() -> None:
            pieces: list[bytes] = []
            sent.append(pieces)

            async def send(message: Message) -> None:
                # Everything is accepted at once, as by a socket with room.
                if message.get("body"):
                    pieces.append(message["body"])

            await large.app(SCRAPE, receive, send)

        task = asyncio.create_task(others())
        await asyncio.gather(*(scrape() for _ in range(4)))
        task.cancel()
    assert [b"".join(pieces) for pieces in sent] == [large.text()] * 4
    assert turns >= (len(sent[0]) - 1) // STRETCH_PIECES
