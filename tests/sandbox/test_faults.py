import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from exporter.sandbox.app import create_app
from exporter.sandbox.faults import FaultGate, Faults
from exporter.sandbox.keys import API_KEY
from exporter.sandbox.server import SandboxServer
from exporter.sandbox.world import World
from tests.waiting import END_SECONDS, PATIENCE, until

ZONE = "/dnszone/101/statistics"
OTHER = "/dnszone/102/statistics"


async def script(client: httpx.AsyncClient, kind: str, **spec: object) -> int:
    """Script a fault and return its id."""
    answer = await client.post("/sandbox/faults", json={"kind": kind, **spec})
    assert answer.status_code == 201, answer.text
    fault_id: int = answer.json()["id"]
    return fault_id


async def collect(pieces: AsyncIterator[bytes], received: bytearray) -> None:
    """Collect the pieces until they end or the connection breaks."""
    async for piece in pieces:
        received.extend(piece)


async def is_silent(waiting: asyncio.Task[Any]) -> None:
    """Check that the server sends nothing, and cancel the wait for it."""
    done, _ = await asyncio.wait([waiting], timeout=0.2)
    assert not done
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting


async def pieces_of(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield what a connection receives, until its end."""
    while piece := await reader.read(65_536):
        yield piece


async def test_a_fault_applies_to_its_path_a_number_of_times(remote: httpx.AsyncClient) -> None:
    await script(remote, "status", status=503, path=ZONE, times=2)
    seen = [(await remote.get(path)).status_code for path in (ZONE, OTHER, ZONE, ZONE)]
    assert seen == [503, 200, 503, 200]


@pytest.mark.parametrize(
    ("spec", "met"),
    [
        ({}, [True, True, True]),
        ({"path_regex": r"/dnszone/\d+/statistics"}, [True, True, False]),
        ({"path_regex": "/dnszone/102"}, [False, False, False]),
        ({"method": "post"}, [False, False, True]),
    ],
)
async def test_faults_apply_to_requests_by_method_and_pattern(
    remote: httpx.AsyncClient,
    spec: dict[str, str],
    met: list[bool],
) -> None:
    await script(remote, "status", status=502, **spec)
    answers = [await remote.get(ZONE), await remote.get(OTHER), await remote.post("/compute/script/7", json={})]
    assert [answer.status_code == 502 for answer in answers] == met


async def test_no_fault_applies_to_the_control_endpoints(remote: httpx.AsyncClient) -> None:
    await script(remote, "reset")
    assert (await remote.get("/sandbox/faults")).status_code == 200
    assert (await remote.get("/openapi.json")).status_code == 200


async def test_garbage_comes_as_a_body_or_in_the_place_of_http(remote: httpx.AsyncClient) -> None:
    await script(remote, "garbage", size=2_000, times=1)
    answer = await remote.get(ZONE)
    assert (answer.status_code, len(answer.content)) == (200, 2_000)
    await script(remote, "garbage", place="wire", times=1)
    with pytest.raises(httpx.RemoteProtocolError):
        await remote.get(ZONE)


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_can_be_too_large_with_and_without_its_length(
    remote: httpx.AsyncClient,
    announced: bool,  # noqa: FBT001 - a literal case
) -> None:
    await script(remote, "oversize", announced=announced)
    async with remote.stream("GET", ZONE) as answer:
        received = bytearray()
        await collect(answer.aiter_raw(), received)
    assert len(received) == 17 * 1024 * 1024
    assert ("content-length" in answer.headers) is announced


async def test_a_stalled_body_sends_half_and_then_nothing(remote: httpx.AsyncClient) -> None:
    whole = await remote.get(ZONE)
    await script(remote, "stall", path=ZONE)
    received = bytearray()
    async with remote.stream("GET", ZONE, timeout=PATIENCE) as answer:
        assert int(answer.headers["content-length"]) == len(whole.content)
        reading = asyncio.create_task(collect(answer.aiter_raw(), received))
        half = len(whole.content) // 2
        await until(lambda: len(received) >= half)
        await is_silent(reading)
    assert received == whole.content[:half]


async def test_an_answer_can_stall_before_its_headers(remote: httpx.AsyncClient) -> None:
    await script(remote, "stall", point="start")
    await is_silent(asyncio.create_task(remote.send(remote.build_request("GET", ZONE, timeout=PATIENCE), stream=True)))


async def test_an_answer_can_stall_after_its_headers(remote: httpx.AsyncClient) -> None:
    await script(remote, "stall", point="headers")
    answer = await remote.send(remote.build_request("GET", ZONE, timeout=PATIENCE), stream=True)
    assert answer.status_code == 200
    await is_silent(asyncio.create_task(answer.aread()))


@pytest.mark.parametrize(("point", "started"), [("start", False), ("headers", True), ("body", True)])
async def test_a_connection_is_reset_at_three_points(
    server: SandboxServer,
    remote: httpx.AsyncClient,
    point: str,
    started: bool,  # noqa: FBT001 - a literal case
) -> None:
    whole = (await remote.get(ZONE)).content
    await script(remote, "reset", point=point)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET {ZONE} HTTP/1.1\r\nHost: sandbox\r\nAccessKey: {API_KEY}\r\n\r\n".encode())
    received = bytearray()
    with pytest.raises(ConnectionResetError):
        await collect(pieces_of(reader), received)
    writer.close()
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200") is started
    assert (b"content-length: %d" % len(whole) in head) is started
    assert body == (whole[: len(whole) // 2] if point == "body" else b"")


async def test_a_body_is_shorter_than_announced(remote: httpx.AsyncClient) -> None:
    await script(remote, "short")
    with pytest.raises(httpx.RemoteProtocolError, match="peer closed connection"):
        await remote.get(ZONE)


async def test_a_reset_of_one_connection_leaves_the_others(remote: httpx.AsyncClient) -> None:
    await script(remote, "reset", path=ZONE)
    answers = await asyncio.gather(*(remote.get(path) for path in [ZONE, OTHER] * 5), return_exceptions=True)
    answered = [isinstance(answer, httpx.Response) for answer in answers]
    assert answered == [False, True] * 5


class Sleeper:
    """Returns at once from each sleep, and records its length."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        """Sleep."""
        self.slept.append(seconds)


class FaultyClient:
    """A client of a world, the world's faults, and the sleep that these faults use."""

    def __init__(self, world: World) -> None:
        self.faults = Faults(seed=1)
        self.sleeper = Sleeper()
        gate = FaultGate(create_app(world), self.faults, world.clock, self.sleeper)
        transport = httpx.ASGITransport(gate)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://sandbox", headers={"AccessKey": API_KEY})


async def test_a_late_answer_is_right(world: World) -> None:
    faulty = FaultyClient(world)
    faulty.faults.add({"kind": "delay", "seconds": 5.0, "method": "POST"})
    async with faulty.client as client:
        answer = await client.post("/compute/script/7", json={"Name": "late"})
    assert (answer.json()["Name"], faulty.sleeper.slept) == ("late", [5.0])


async def test_a_body_drips_piece_by_piece(world: World) -> None:
    faulty = FaultyClient(world)
    async with faulty.client as client:
        whole = await client.get(ZONE)
        faulty.faults.add({"kind": "drip", "seconds": 2.0, "size": 1_000})
        dripped = await client.get(ZONE)
    assert dripped.content == whole.content
    assert faulty.sleeper.slept == [2.0] * -(-len(whole.content) // 1_000)


def test_the_seed_determines_how_often_a_probable_fault_applies() -> None:
    def uses(seed: int) -> list[bool]:
        faults = Faults(seed)
        faults.add({"kind": "status", "status": 500, "probability": 0.3})
        return [faults.take_for("GET", "/") is not None for _ in range(200)]

    assert uses(1) == uses(1)
    assert uses(1) != uses(2)
    assert 40 < sum(uses(1)) < 80


async def test_a_server_stops_at_once_during_stalled_answers(world: World) -> None:
    server = SandboxServer(create_app(world))
    await server.start()
    async with httpx.AsyncClient(base_url=server.url, headers={"AccessKey": API_KEY}, timeout=PATIENCE) as client:
        stalled: list[asyncio.Task[Any]] = []
        for kind, spec in (("stall", {}), ("delay", {"seconds": 3600}), ("drip", {"seconds": 3600})):
            path = f"/dnszone/{kind}/statistics"
            await script(client, kind, path=path, **spec)
            stalled.append(asyncio.create_task(client.get(path)))
        while any(fault["hits"] == 0 for fault in (await client.get("/sandbox/faults")).json()):
            continue
        async with asyncio.timeout(END_SECONDS):
            await server.stop()
        assert all(
            isinstance(result, httpx.TransportError)
            for result in await asyncio.gather(*stalled, return_exceptions=True)
        )


async def test_a_reset_is_one_over_tls_too(world: World, tls_files: tuple[Path, Path]) -> None:
    certificate, key = tls_files
    server = SandboxServer(create_app(world), tls_certificate=certificate, tls_key=key)
    await server.start()
    trusting = ssl.create_default_context(cafile=certificate)
    async with httpx.AsyncClient(base_url=server.url, headers={"AccessKey": API_KEY}, verify=trusting) as client:
        assert server.url.startswith("https://")
        assert (await client.get(ZONE)).status_code == 200
        await script(client, "reset", path=ZONE, point="body")
        with pytest.raises(httpx.TransportError):
            await client.get(ZONE)
    await server.stop()
