"""Runs prometheus-client's own server, with a registry of fixed families, in a separate process."""

import argparse
import json
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric, start_http_server
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector


class Ready(Collector):
    """A collector of families that were parsed from a text once."""

    def __init__(self, text: str) -> None:
        self._families = list(text_string_to_metric_families(text))

    def collect(self) -> Iterable[Metric]:
        """Return the families."""
        return self._families


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the families of a file until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    registry = CollectorRegistry()
    registry.register(Ready(given.file.read_text()))
    server, _ = start_http_server(0, "127.0.0.1", registry)
    sys.stdout.write(json.dumps({"url": f"http://127.0.0.1:{server.server_port}/metrics"}) + "\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
