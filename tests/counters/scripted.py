"""A platform whose answers are scripted byte by byte: `python -m tests.counters.scripted`.

It prints its address, and reads one line of JSON from standard input: path → answers, each `{"body": …, "date": …}`.
Requests of a path get its answers one after the other, and the last one from then on. Any other path is a 404.
"""

import json
import sys
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWERS: dict[str, list[Mapping[str, Any]]] = {}


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the next answer for the path."""
        answers = ANSWERS.get(self.path.partition("?")[0], [])
        if not answers:
            self._send(404, "{}", "")
            return
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self._send(200, json.dumps(answer["body"]), answer.get("date", ""))

    def _send(self, status: int, text: str, date: str) -> None:
        body = text.encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Date", date or self.date_time_string())
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is declared
        """Print nothing."""


def main() -> None:
    """Serve until standard input ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)  # noqa: T201 - the address is for the test
    ANSWERS.update(json.loads(sys.stdin.readline()))
    server.serve_forever()


if __name__ == "__main__":
    main()
