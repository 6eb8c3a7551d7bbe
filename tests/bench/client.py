"""Serves the series of a file with prometheus-client: `PORT FILE`."""

import signal
import sys
from collections.abc import Iterable
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


if __name__ == "__main__":
    registry = CollectorRegistry()
    registry.register(Ready(Path(sys.argv[2]).read_text()))
    start_http_server(int(sys.argv[1]), "127.0.0.1", registry)
    signal.pause()
