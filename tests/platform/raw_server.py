"""A bare HTTP server that records requests byte by byte, and sends the bytes that a test wrote."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from typing import Literal


@dataclass(frozen=True)
class RawRequest:
    """A request as it was received."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    raw: bytes

    def header(self, name: str) -> str | None:
        """Return a header's value; None if it was not sent."""
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)


@dataclass(frozen=True)
class Line:
    """The server's end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, raw: bytes) -> None:
        """Send bytes."""
        self.writer.write(raw)
        await self.writer.drain()

    async def hung_up(self) -> None:
        """Wait until the other end has closed."""
        while await self.reader.read(65536):
            pass

    def reset(self) -> None:
        """End the connection with a RST."""
        self.writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[RawRequest, Line], Awaitable[None]]


def reply(body: bytes | str = b"", status: int = 200, **headers: str) -> bytes:
    """Return a whole answer; its length is announced unless the headers, written `Like_This`, have another one."""
    raw = body.encode() if isinstance(body, str) else body
    fields = {"Content_Length": str(len(raw))} | headers
    lines = (f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Status\r\n{''.join(lines)}\r\n".encode("latin-1") + raw


def saying(*answers: bytes) -> Script:
    """Return a script that gives one answer after another, and then repeats the last."""
    left = list(answers)

    async def say(_request: RawRequest, line: Line) -> None:
        await line.send(left.pop(0) if len(left) > 1 else left[0])

    return say


def ending(how: Literal["reset", "closed", "stalled"], sent_before: bytes = b"") -> Script:
    """Return a script that sends bytes, and then ends the connection with a RST, closes it, or sends nothing more."""

    async def end(_request: RawRequest, line: Line) -> None:
        await line.send(sent_before)
        if how == "reset":
            # Long enough on loopback for the bytes to be read before the RST throws them away.
            await asyncio.sleep(0.02 if sent_before else 0)
            line.reset()
        elif how == "closed":
            line.writer.close()
        else:
            await line.hung_up()

    return end


def dripping(head: bytes, drop: bytes = b" ", seconds: float = 0.05) -> Script:
    """Return a script that sends the headers, and then a few bytes at a time without an end."""

    async def drip(_request: RawRequest, line: Line) -> None:
        await line.send(head)
        while True:
            await line.send(drop)
            await asyncio.sleep(seconds)

    return drip


@dataclass
class RawServer:
    """The server: `script` answers, `requests` are the received requests."""

    script: Script
    port: int = 0
    requests: list[RawRequest] = field(default_factory=list)
    connections: int = 0
    open: set[Line] = field(default_factory=set)
    asked: asyncio.Condition = field(default_factory=asyncio.Condition)
    scheme: str = "http"

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def until_asked(self, times: int) -> None:
        """Wait until a number of requests were received."""
        async with self.asked:
            await self.asked.wait_for(lambda: len(self.requests) >= times)

    async def serve(self, line: Line) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        self.open.add(line)
        try:
            while (request := await read_request(line.reader)) is not None:
                async with self.asked:
                    self.requests.append(request)
                    self.asked.notify_all()
                await self.script(request, line)
        finally:
            self.open.discard(line)


async def read_request(reader: asyncio.StreamReader) -> RawRequest | None:
    """Return the next request of a connection; None at its end."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ")
    headers = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    body = await reader.readexactly(length)
    return RawRequest(method, target, headers, body, raw + body)


@asynccontextmanager
async def listening(serve: Callable[[Line], Awaitable[None]], tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Yield a port of loopback; `serve` handles its connections."""
    tasks: set[asyncio.Task[None]] = set()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(Line(reader, writer))
            writer.close()
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            tasks.discard(task)

    server = await asyncio.start_server(hold, "127.0.0.1", 0, ssl=tls, limit=1 << 20)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


@asynccontextmanager
async def raw_server(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """Run a server on a free port."""
    server = RawServer(script, scheme="https" if tls is not None else "http")
    async with listening(server.serve, tls) as server.port:
        yield server
