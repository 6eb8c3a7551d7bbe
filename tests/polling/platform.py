"""A platform that is not the sandbox: a plain HTTP server on threads, which records its requests."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from tests.http_answers import answering

PAGE = 1000


@dataclass
class Platform:
    """The platform's zones, and its requests.

    Attributes:
        zones: the ids of its DNS zones.
        seen: the path of each request.
    """

    zones: range = range(1, 4)
    url: str = ""
    seen: list[str] = field(default_factory=list)

    def count(self, path: str) -> int:
        """Return the number of requests whose path contains a text."""
        return sum(path in asked for asked in list(self.seen))

    def answer(self, target: str) -> object:
        """Return the body of an answer."""
        url = urlsplit(target)
        if url.path == "/search":
            skipped = int(parse_qs(url.query).get("from", ["0"])[0])
            page = [
                {"Type": "dns", "Id": zone, "Name": f"zone-{zone}.example"}
                for zone in self.zones[skipped : skipped + PAGE]
            ]
            return {"Query": "", "Total": len(self.zones), "From": skipped, "Size": len(page), "SearchResults": page}
        return {"TotalQueriesServed": 7, "QueriesServedChart": {}, "QueriesByTypeChart": {"1": 7}}

    def respond(self, request: BaseHTTPRequestHandler, _sent: bytes) -> tuple[int, bytes]:
        """Record a request, and return its answer."""
        self.seen.append(request.path)
        return 200, json.dumps(self.answer(request.path)).encode()


@contextmanager
def running(given: Platform | None = None) -> Iterator[Platform]:
    """Run a platform on the loopback interface; by default a plain one."""
    platform = given or Platform()
    with answering(platform.respond) as platform.url:
        yield platform
