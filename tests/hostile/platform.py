"""A platform with very long answers, in threads of the test, and a daemon that polls it."""

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from prometheus_client.parser import text_string_to_metric_families

from tests.counters.process import Exporter, exporter_running
from tests.waiting import PATIENCE

KEY = "0123456789abcdef-not-a-key"
PIECE = 65_536


@dataclass
class Platform:
    """Answers a search with many zones, and SQL with many rows.

    Attributes:
        events: how often each path was requested, the last pages of the search, and of the long answers those that were
            `sent` whole and those that were `refused`, because the client closed the connection before.
    """

    zones: int
    rows: int
    name: str
    events: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        texts = ({"type": "text", "value": f"region-{row}"} for row in range(self.rows))
        cells = [[text, {"type": "integer", "value": str(row)}] for row, text in enumerate(texts)]
        self.long_answer = _pipeline(
            cols=[{"name": name, "decltype": None} for name in ("region", "value")], rows=cells
        )
        one = [{"type": "integer", "value": "1"}]
        self.short_answer = _pipeline(cols=[{"name": "1", "decltype": None}], rows=[one])

    def answer(self, target: str, sent: bytes) -> bytes:
        """Return the answer to a request."""
        parts = urlsplit(target)
        self.events[parts.path] += 1
        if parts.path == "/search":
            query = {name: int(values[0]) for name, values in parse_qs(parts.query).items() if name != "search"}
            begin, size = query.get("from", 0), query.get("size", 20)
            numbers = range(begin, min(begin + size, self.zones))
            self.events["last page"] += begin + size >= self.zones
            found = [{"Type": "dns", "Id": number + 1, "Name": self.name.format(number)} for number in numbers]
            return json.dumps({"Total": self.zones, "From": begin, "Size": size, "SearchResults": found}).encode()
        if parts.path == "/v2/pipeline":
            first = json.loads(sent)["requests"][0]
            if first["type"] == "describe":
                return _pipeline("describe", is_readonly=True)
            return self.long_answer if "orders" in first["stmt"]["sql"] else self.short_answer
        if parts.path == "/shield/shield-zones":
            return b'{"data": [], "page": {"totalCount": 0}}'
        return b'{"TotalQueriesServed": 7, "QueriesServedChart": {}, "QueriesByTypeChart": {}}'

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve until the block ends; yield the address."""
        platform = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = platform.answer(self.path, self.rfile.read(int(self.headers.get("content-length", 0))))
                # A small buffer: what the client does not take stays here.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
                event = "sent"
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:
                    event, self.close_connection = "refused", True
                platform.events[event] += body is platform.long_answer

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            Thread(target=server.serve_forever).start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()


def _pipeline(kind: str = "execute", **result: object) -> bytes:
    """Return the answer to a pipeline of one request and its close."""
    if kind == "execute":
        result |= {"affected_row_count": 0, "last_insert_rowid": None}
    results = [
        {"type": "ok", "response": {"type": kind, "result": result}},
        {"type": "ok", "response": {"type": "close"}},
    ]
    return json.dumps({"baton": None, "base_url": None, "results": results}, separators=(",", ":")).encode()


@dataclass
class HostileRun:
    """The platform, and the daemon."""

    events: Counter[str]
    daemon: Exporter

    def sample(self, family: str) -> float | None:
        """Scrape one family, and return the sum of its samples; None if there is none."""
        found = text_string_to_metric_families(self.daemon.text(f"/metrics?name[]={family}"))
        samples = [sample.value for one in found for sample in one.samples if sample.name == family]
        return sum(samples) if samples else None

    def target(self, key: str) -> dict[str, str]:
        """Return the status of a target."""
        rows = json.loads(self.daemon.text("/api/v1/targets"))["targets"]
        found: dict[str, str] = next(row for row in rows if row["target"] == key)
        return found


@contextmanager
def hostile_run(
    folder: Path,
    settings: Callable[[str, str], Mapping[str, Any]],
    *,
    zones: int = 0,
    rows: int = 1,
    name: str = "zone-{}.example",
) -> Iterator[HostileRun]:
    """Run the platform and a daemon.

    Args:
        folder: the folder for the files.
        settings: address of the platform, file of its key → the configuration, without `web` and `state`.
        zones: how many zones the platform's search finds.
        rows: how many rows each query returns.
        name: the name of the zones.
    """
    key = folder / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    platform = Platform(zones, rows, name)
    with platform.serving() as url:
        own = {"web": {"listen": "127.0.0.1:0"}, "state": {"path": None}}
        with exporter_running({**settings(url, str(key)), **own}, folder) as daemon:
            yield HostileRun(platform.events, daemon)


def until(is_so: Callable[[], bool]) -> int:
    """Repeat a check until it is true, and return the number of failed checks."""
    ends = time.monotonic() + PATIENCE
    times = 0
    while not is_so():
        assert time.monotonic() < ends, "it never was"
        times += 1
        time.sleep(0.01)
    return times
