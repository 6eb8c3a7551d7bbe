"""A platform with very long answers, as a process: `python -m tests.hostile.platform PORT ZONES ROWS NAME`.

It uses no part of the exporter. `/events` returns how often each path was requested, and the results of the long
answers: `sent` if all of it was received, `refused` if the client closed the connection before.
"""

import asyncio
import json
import socket
import sys
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

PIECE = 65_536


class Platform:
    """Answers a search with many zones, and SQL with many rows."""

    def __init__(self, zones: int, rows: int, name: str) -> None:
        self.zones = zones
        self.rows = rows
        self.name = name
        self.events: Counter[str] = Counter()
        cells = (
            [{"type": "text", "value": f"region-{row}"}, {"type": "integer", "value": str(row)}] for row in range(rows)
        )
        columns = [{"name": "region", "decltype": None}, {"name": "value", "decltype": None}]
        self.long_answer = pipeline(columns, list(cells))
        self.short_answer = pipeline([{"name": "1", "decltype": None}], [[{"type": "integer", "value": "1"}]])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        # A small buffer: what the client does not take stays here.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lines = head.split("\r\n")
                headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:]}
                sent = await reader.readexactly(int(headers.get("content-length", "0")))
                await self._send(writer, self._answer(lines[0].split(" ")[1], sent))
        except (asyncio.IncompleteReadError, ConnectionError):
            self.events["refused"] += 0
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, body: bytes) -> None:
        is_long = body is self.long_answer
        begin = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(begin.encode())
        try:
            for start in range(0, len(body), PIECE):
                writer.write(body[start : start + PIECE])
                await writer.drain()
        except ConnectionError:
            self.events["refused"] += is_long
            raise
        self.events["sent"] += is_long

    def _answer(self, target: str, sent: bytes) -> bytes:
        parts = urlsplit(target)
        if parts.path == "/events":
            return json.dumps(self.events).encode()
        self.events[parts.path] += 1
        match parts.path:
            case "/search":
                return self._search(parse_qs(parts.query))
            case "/v2/pipeline":
                return self._sql(json.loads(sent))
            case "/shield/shield-zones":
                return b'{"data": [], "page": {"totalCount": 0}}'
            case _:
                return b'{"TotalQueriesServed": 7, "QueriesServedChart": {}, "QueriesByTypeChart": {}}'

    def _search(self, query: dict[str, list[str]]) -> bytes:
        begin, size = int(query.get("from", ["0"])[0]), int(query.get("size", ["20"])[0])
        found = [
            {"Type": "dns", "Id": number + 1, "Name": self.name.format(number)}
            for number in range(begin, min(begin + size, self.zones))
        ]
        if begin + size >= self.zones:
            self.events["last page"] += 1
        return json.dumps({"Total": self.zones, "From": begin, "Size": size, "SearchResults": found}).encode()

    def _sql(self, request: Any) -> bytes:
        first = request["requests"][0]
        if first["type"] != "execute":
            return pipeline_of({"type": "ok", "response": {"type": "describe", "result": {"is_readonly": True}}})
        return self.long_answer if "orders" in first["stmt"]["sql"] else self.short_answer


def pipeline(columns: list[dict[str, str | None]], rows: list[list[dict[str, str]]]) -> bytes:
    """Return the answer to a statement."""
    result = {"cols": columns, "rows": rows, "affected_row_count": 0, "last_insert_rowid": None}
    return pipeline_of({"type": "ok", "response": {"type": "execute", "result": result}})


def pipeline_of(result: dict[str, object]) -> bytes:
    """Return the answer to a pipeline of one request and its close."""
    closed = {"type": "ok", "response": {"type": "close"}}
    answer = {"baton": None, "base_url": None, "results": [result, closed]}
    return json.dumps(answer, separators=(",", ":")).encode()


async def main(port: int, zones: int, rows: int, name: str) -> None:
    """Serve until the process ends."""
    platform = Platform(zones, rows, name)
    server = await asyncio.start_server(platform.serve, "127.0.0.1", port)
    async with server:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
