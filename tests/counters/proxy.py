"""A TCP proxy on loopback that can be cut: it refuses connections, or keeps them open and passes nothing on."""

import asyncio
from contextlib import suppress

_CHUNK = 65536


class Proxy:
    """Passes connections on to a port, unless it is cut.

    Args:
        target: the port on the loopback that connections are passed on to.

    Attributes:
        port: its own port, after it has started.
    """

    def __init__(self, target: int) -> None:
        self.port = 0
        self._target = target
        self._server: asyncio.Server | None = None
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Refuse connections, and close the open ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()

    def hang(self) -> None:
        """Keep connections open, accept new ones, and pass nothing on, like a network that loses every packet."""
        self._open.clear()

    def pass_on(self) -> None:
        """Pass data on again, including the data that waited."""
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        ways: list[asyncio.Task[None]] = []
        try:
            with suppress(OSError, asyncio.CancelledError):
                onward, back = await asyncio.open_connection("127.0.0.1", self._target)
                ways += [asyncio.create_task(self._copy(*way)) for way in ((reader, back), (onward, writer))]
                # The end of either direction ends both.
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._tasks.discard(task)
            for way in ways:
                way.cancel()
            writer.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                while data := await reader.read(_CHUNK):
                    await self._open.wait()
                    writer.write(data)
                    await writer.drain()
        finally:
            writer.close()
