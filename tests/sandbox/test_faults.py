"""Faults on connections and in time; the golden has the answers of those that need neither."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from exporter.sandbox.keys import API_KEY
from exporter.sandbox.sandbox_app import create_app
from exporter.sandbox.sandbox_server import SandboxServer
from exporter.sandbox.world import World
from tests.waiting import END_SECONDS, PATIENCE, until

ZONE = "/dnszone/101/statistics"


async def script(client: httpx.AsyncClient, kind: str, **spec: object) -> None:
    """Script a fault."""
    answer = await client.post("/sandbox/faults", json={"kind": kind, **spec})
    assert answer.status_code == 201, answer.text


async def collect(pieces: AsyncIterator[bytes], received: bytearray) -> None:
    """Collect the pieces until they end or the connection breaks."""
    async for piece in pieces:
        received.extend(piece)


async def pieces_of(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield what a connection receives, until its end."""
    while piece := await reader.read(65_536):
        yield piece


@pytest.mark.parametrize(
    ("kind", "point", "part"),
    [(kind, *case) for kind in ("stall", "reset") for case in (("start", None), ("headers", 0.0), ("body", 0.5))],
)
async def test_an_answer_stalls_or_its_connection_is_reset_at_three_points(
    server: SandboxServer, remote: httpx.AsyncClient, kind: str, point: str, part: float | None
) -> None:
    whole = (await remote.get(ZONE)).content
    await script(remote, kind, point=point)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET {ZONE} HTTP/1.1\r\nHost: sandbox\r\nAccessKey: {API_KEY}\r\n\r\n".encode())
    received = bytearray()
    reading = asyncio.create_task(collect(pieces_of(reader), received))
    if kind == "reset":
        with pytest.raises(ConnectionResetError):
            await reading
    else:
        if part is not None:
            await until(lambda: received.partition(b"\r\n\r\n")[2] == whole[: int(len(whole) * part)] and received)
        done, _ = await asyncio.wait([reading], timeout=0.2)
        assert not done
        reading.cancel()
    writer.close()
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200") is (part is not None)
    assert (b"content-length: %d" % len(whole) in head) is (part is not None)
    assert body == whole[: int(len(whole) * (part or 0))]


async def test_a_server_stops_at_once_during_stalled_answers(world: World) -> None:
    server = SandboxServer(create_app(world))
    await server.start()
    async with httpx.AsyncClient(base_url=server.url, headers={"AccessKey": API_KEY}, timeout=PATIENCE) as client:
        stalled: list[asyncio.Task[Any]] = []
        for kind, spec in (("stall", {}), ("delay", {"seconds": 3600})):
            path = f"/dnszone/{kind}/statistics"
            await script(client, kind, path=path, **spec)
            stalled.append(asyncio.create_task(client.get(path)))
        while any(fault["hits"] == 0 for fault in (await client.get("/sandbox/faults")).json()):
            continue
        async with asyncio.timeout(END_SECONDS):
            await server.stop()
        ended = await asyncio.gather(*stalled, return_exceptions=True)
        assert all(isinstance(result, httpx.TransportError) for result in ended)
