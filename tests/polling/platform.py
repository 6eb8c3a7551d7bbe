"""A platform that is not the sandbox: a plain HTTP server on threads, which records the time of each request.

It continues while the exporter is stopped, so it records what a platform sees.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.http_answers import answering

PAGE = 1000


@dataclass
class Platform:
    """The platform's zones, and its requests.

    Attributes:
        zones: the ids of its DNS zones.
        name: their names, with a place for the id.
        seen: the time of each request, on the monotonic clock, and its path.
    """

    zones: range = range(1, 4)
    name: str = "zone-{}.example"
    url: str = ""
    seen: list[tuple[float, str]] = field(default_factory=list)

    def count(self, path: str) -> int:
        """Return the number of requests whose path contains a text."""
        return sum(path in asked for _, asked in list(self.seen))

    def moments(self) -> list[float]:
        """Return the times of requests."""
        return [moment for moment, _ in list(self.seen)]

    def answer(self, target: str, body: bytes) -> object:
        """Return the body of an answer."""
        url = urlsplit(target)
        if url.path == "/search":
            skipped = int(parse_qs(url.query).get("from", ["0"])[0])
            page = [
                {"Type": "dns", "Id": zone, "Name": self.name.format(zone)}
                for zone in self.zones[skipped : skipped + PAGE]
            ]
            return {"Query": "", "Total": len(self.zones), "From": skipped, "Size": len(page), "SearchResults": page}
        if url.path == "/v2/pipeline":
            return {"baton": None, "results": [self.result(request) for request in json.loads(body)["requests"]]}
        return {"TotalQueriesServed": 7, "QueriesServedChart": {}, "QueriesByTypeChart": {"1": 7}}

    def result(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request to the database."""
        results: dict[str, dict[str, Any]] = {
            "describe": {"params": [], "cols": [], "is_explain": False, "is_readonly": True},
            "execute": {"cols": [{"name": "value"}], "rows": [[{"type": "integer", "value": "1"}]]},
        }
        return {"type": "ok", "response": {"type": request["type"], "result": results.get(request["type"], {})}}

    def respond(self, request: BaseHTTPRequestHandler, sent: bytes) -> tuple[int, bytes]:
        """Record a request, and return its answer."""
        self.seen.append((time.monotonic(), request.path))
        return 200, json.dumps(self.answer(request.path, sent)).encode()


@contextmanager
def running(given: Platform | None = None) -> Iterator[Platform]:
    """Run a platform on the loopback interface; by default a plain one."""
    platform = given or Platform()
    with answering(platform.respond) as platform.url:
        yield platform
