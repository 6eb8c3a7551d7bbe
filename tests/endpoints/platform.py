"""A platform without the documented interface: JSON at any path, and lists in pages."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, unquote, urlsplit

Query = Mapping[str, list[str]]
# Status and body for the path and the query that were asked.
Answer = Callable[[str, Query], tuple[int, bytes]]


class Platform:
    """Answers GET, and counts the requests.

    Args:
        answer: returns the answer for a path without percent-encoding.

    Attributes:
        date: the `Date` of its answers; empty for none.
    """

    def __init__(self, answer: Answer) -> None:
        self.url = self.date = ""
        self.answer = answer
        self.asked: Counter[str] = Counter()
        self.methods: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, target, _ = head.split("\r\n", 1)[0].split(" ")
                self.methods[method] += 1
                self.asked[target] += 1
                parts = urlsplit(target)
                status, body = self.answer(unquote(parts.path), parse_qs(parts.query))
                head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                head += f"Date: {self.date}\r\n" if self.date else ""
                writer.write(head.encode() + b"\r\n" + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def platform(answer: Answer) -> AsyncIterator[Platform]:
    """Run a platform on loopback."""
    made = Platform(answer)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()


def good(body: object) -> tuple[int, bytes]:
    """Return a 200 with this JSON."""
    return 200, json.dumps(body).encode()
