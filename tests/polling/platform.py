"""A platform that is not the sandbox: a plain HTTP server on threads, which records the time of each request.

It continues while the exporter is stopped, so it records what a platform sees.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = 1000


@dataclass
class Platform:
    """The platform's zones, its behaviour, and its requests.

    Attributes:
        zones: the ids of its DNS zones.
        delay: seconds before each answer.
        seen: the time of each request, on the monotonic clock, and its path.
    """

    zones: range = range(1, 4)
    delay: float = 0.0
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
            found = [{"Type": "dns", "Id": zone, "Name": f"zone-{zone}.example"} for zone in self.zones]
            page = found[skipped : skipped + PAGE]
            return {"Query": "", "Total": len(found), "From": skipped, "Size": len(page), "SearchResults": page}
        if url.path == "/v2/pipeline":
            return {"baton": None, "results": [_result(request) for request in json.loads(body)["requests"]]}
        return {"TotalQueriesServed": 7, "QueriesServedChart": {}, "QueriesByTypeChart": {"1": 7}}


def _result(request: dict[str, Any]) -> dict[str, Any]:
    results: dict[str, dict[str, Any]] = {
        "describe": {"params": [], "cols": [], "is_explain": False, "is_readonly": True},
        "execute": {"cols": [{"name": "value"}], "rows": [[{"type": "integer", "value": "1"}]]},
    }
    return {"type": "ok", "response": {"type": request["type"], "result": results.get(request["type"], {})}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


@contextmanager
def running(given: Platform | None = None) -> Iterator[Platform]:
    """Run a platform on the loopback interface; by default a plain one."""
    platform = given or Platform()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            platform.seen.append((time.monotonic(), self.path))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            time.sleep(platform.delay)
            raw = json.dumps(platform.answer(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = answer  # noqa: N815 - the names that the library calls

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        platform.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield platform
        finally:
            server.shutdown()
