"""A process with few file descriptors, whose clients open many connections."""

import asyncio
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter.sandbox import keys
from exporter.sandbox.world import World
from tests.counters.exporter_process import Exporter
from tests.exporter_parts import sandbox
from tests.waiting import PATIENCE
from tests.web.certificates import Authority

SILENT = 1150
LIMIT = "256:1024"


@pytest.fixture(autouse=True)
def enough_files() -> Iterator[None]:
    """Raise the test process's own limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = SILENT + 500
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"needs a hard limit of {needed} open files: ulimit -Hn {needed}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed) if soft >= 0 else soft, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
async def platform() -> AsyncIterator[str]:
    async with sandbox(World()) as running:
        yield running.url


@pytest.fixture
def crowd() -> Iterator["Crowd"]:
    opened = Crowd()
    yield opened
    opened.leave()


def settings(platform: str, folder: Path, authority: Authority | None) -> dict[str, Any]:
    """Settings with one account that is polled every second, over TLS if there is an authority."""
    web = {"listen": "127.0.0.1:0"}
    if authority is not None:
        certificate, key = authority.issue()
        web["config_file"] = str(folder / "web.yml")
        tls = f"tls_server_config: {{cert_file: {certificate.name}, key_file: {key.name}}}"
        Path(web["config_file"]).write_text(tls)
    return {
        "accounts": [{"name": "main", "base_url": platform, "api_key": keys.API_KEY}],
        "web": web,
        "state": {"path": str(folder / "state.db")},
        "collectors": {"dns_statistics": {"interval": "1s"}},
    }


@asynccontextmanager
async def running(
    platform: str, folder: Path, limit: str, authority: Authority | None = None
) -> AsyncIterator[Exporter]:
    """Run an exporter under a limit of open files (soft and hard)."""
    prefix = ("prlimit", f"--nofile={limit}")
    exporter = await asyncio.to_thread(Exporter, settings(platform, folder, authority), folder, prefix)
    try:
        yield exporter
    finally:
        await asyncio.to_thread(exporter.end)


class Crowd(list[socket.socket]):
    """Open connections, which send nothing or a given text; they stay open even if the server closes its ends."""

    def leave(self) -> None:
        """Close all connections."""
        while self:
            self.pop().close()

    async def grow(self, exporter: Exporter, size: int, saying: bytes = b"") -> None:
        """Open more connections to an exporter."""
        loop = asyncio.get_running_loop()
        for _ in range(size):
            opened = socket.socket()
            opened.settimeout(0)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.append(opened)
            await loop.sock_connect(opened, ("127.0.0.1", httpx.URL(exporter.url).port))
            with suppress(ConnectionError):
                await loop.sock_sendall(opened, saying)


async def scraped(exporter: Exporter, tls: ssl.SSLContext | None = None) -> dict[str, float]:
    """Scrape over a new connection, and return the sum of each family."""
    async with httpx.AsyncClient(verify=tls or True, trust_env=False, timeout=PATIENCE) as client:
        answer = await client.get(exporter.url.replace("127.0.0.1", "localhost") + "/metrics")
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0) + sample.value
    return found


async def polled_on(scrape: Callable[[], Awaitable[dict[str, float]]]) -> dict[str, float]:
    """Wait for a scrape with more answered calls to the platform than the first one, and return it."""
    before = (await scrape())["edge_api_request_duration_seconds_count"]
    async with asyncio.timeout(PATIENCE):
        while (after := await scrape())["edge_api_request_duration_seconds_count"] <= before:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    return after


# Nothing; half a handshake or half a head; and requests whose answers are not taken.
NOTHING, HANDSHAKE, HEAD = [(SILENT, saying) for saying in (b"", b"\x16\x03\x01", b"GET /")]
ASKING = (600, b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n" * 200)


@pytest.mark.parametrize(
    ("limit", "crowds", "is_tls"),
    [(LIMIT, [NOTHING, HANDSHAKE], True), (LIMIT, [NOTHING, HEAD, ASKING], False), ("128:128", [NOTHING], False)],
    ids=["tls", "plain", "few-files"],
)
async def test_many_connections_keep_neither_scrapes_nor_polls_out(
    platform: str, tmp_path: Path, crowd: Crowd, limit: str, crowds: list[tuple[int, bytes]], *, is_tls: bool
) -> None:
    authority = Authority(tmp_path) if is_tls else None
    tls = None if authority is None else authority.client()
    async with running(platform, tmp_path, limit, authority) as exporter:
        for size, saying in crowds:
            crowd.leave()
            await crowd.grow(exporter, size, saying)

            async def scrape(saying: bytes = saying) -> dict[str, float]:
                await crowd.grow(exporter, 20, saying)
                return await scraped(exporter, tls)

            after = await polled_on(scrape)
            assert after["process_open_fds"] < 900, saying
            assert after["process_max_fds"] == int(limit.partition(":")[2]), "the soft limit is raised"
            assert (after["edge_api_request_failures_total"], after["edge_exporter_ledger_up"]) == (0, 1), saying
    assert sum("Traceback" in str(line) for line in exporter.logs) == 0
    assert len(exporter.logs) < 50
    assert ("the limit of open files is low, raise it (ulimit -n)" in exporter.events) == (limit != LIMIT)
