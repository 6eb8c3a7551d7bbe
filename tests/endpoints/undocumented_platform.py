"""A platform without the documented interface: JSON at any path, and lists in pages."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, unquote, urlsplit

from tests.platform.raw_server import Line, RawRequest, raw_server, reply

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

    async def respond(self, request: RawRequest, line: Line) -> None:
        """Answer a request."""
        self.asked[request.target] += 1
        parts = urlsplit(request.target)
        status, body = self.answer(unquote(parts.path), parse_qs(parts.query))
        dated = {"Date": self.date} if self.date else {}
        await line.send(reply(body, status, Content_Type="application/json", **dated))


@asynccontextmanager
async def platform(answer: Answer) -> AsyncIterator[Platform]:
    """Run a platform on loopback."""
    made = Platform(answer)
    async with raw_server(made.respond) as server:
        made.url = server.url
        yield made


def good(body: object) -> tuple[int, bytes]:
    """Return a 200 with this JSON."""
    return 200, json.dumps(body).encode()
