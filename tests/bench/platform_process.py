"""A platform that answers every zone's statistics from memory, much faster than the client can ask."""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

DAYS = 31
CODES = (1, 5, 15, 16, 2, 257, 28, 65)


def chart(grown: int) -> dict[str, float]:
    """Return daily buckets up to today."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=age) for age in range(DAYS - 1, -1, -1)]
    return {day.strftime("%Y-%m-%dT%H:%M:%SZ"): 1000 + place * 37 + grown for place, day in enumerate(days)}


def answer(grown: int) -> bytes:
    """Return a whole response; its numbers grow with each response."""
    body = json.dumps(
        {
            "TotalQueriesServed": sum(chart(grown).values()),
            "QueriesServedChart": chart(grown),
            "NormalQueriesServedChart": chart(grown),
            "SmartQueriesServedChart": chart(grown // 2),
            "QueriesByTypeChart": {str(code): code * 100 + grown for code in CODES},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Platform(asyncio.Protocol):
    """Answers any request, one after another."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self._answers = answers
        self._asked = 0
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the connection."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each complete request; none of them has a body."""
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for _ in requests:
            self._asked += 1
            if self._transport is not None:
                self._transport.write(self._answers[self._asked % len(self._answers)])


async def serve() -> None:
    """Serve until SIGTERM or SIGINT."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    answers = [answer(grown) for grown in range(0, 1000, 7)]
    server = await loop.create_server(lambda: Platform(answers), "127.0.0.1", 0, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(json.dumps({"url": f"http://127.0.0.1:{port}"}) + "\n")
    sys.stdout.flush()
    await ended.wait()
    server.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve with the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", type=int, help="the core that it keeps to")
    given = parser.parse_args(arguments)
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    asyncio.run(serve())


if __name__ == "__main__":
    main()
