#!/usr/bin/env python3
"""Receives Alertmanager's notifications and writes a line for each alert; a stand-in for mail, chat or a pager."""

import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

PORT = 9095
LARGEST = 16 * 1024 * 1024


def line(receiver: str, alert: dict[str, Any]) -> str:
    """Return an alert as a line of the log."""
    labels = alert.get("labels", {})
    summary = alert.get("annotations", {}).get("summary", "")
    return f"{alert.get('status', '')} {receiver}: {labels.get('alertname', '')}: {summary}"


class Receiver(BaseHTTPRequestHandler):
    """Answers the webhook."""

    def do_POST(self) -> None:
        """Write the alerts of one notification."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            self.send_error(411)
            return
        try:
            body = json.loads(self.rfile.read(int(length)))
            lines = [line(body.get("receiver", ""), alert) for alert in body.get("alerts", [])]
        except (ValueError, AttributeError):
            self.send_error(400)
            return
        print(*lines, sep="\n", flush=True)  # noqa: T201 - the container's log
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing of the requests themselves."""


if __name__ == "__main__":
    # As the first process of a container it would ignore the signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else PORT), Receiver)
    print(f"waiting for notifications on port {server.server_port}", flush=True)  # noqa: T201
    server.serve_forever()
