"""Runs the exporter as a separate process, like an operator."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import PATIENCE, wait_until

ROOT = Path(__file__).parents[2]


def samples_of(text: str, family: str, label: str) -> dict[str, float]:
    """Return the values of a family in an exposition, by one of its labels."""
    return {
        sample.labels[label]: sample.value
        for metric in text_string_to_metric_families(text)
        for sample in metric.samples
        if sample.name == family
    }


class Exporter:
    """`edge-exporter run` on a configuration file; the constructor returns when it serves.

    Args:
        settings: the configuration.
        folder: where the configuration file is written.
        prefix: a command that starts it, such as `prlimit` with its arguments.
        database: the address of a state database, which is written to the file `url`.

    Attributes:
        logs: the logged lines.
    """

    def __init__(
        self, settings: Mapping[str, Any], folder: Path, prefix: Sequence[str] = (), *, database: str = ""
    ) -> None:
        folder.mkdir(exist_ok=True)
        if database:
            (folder / "url").touch(0o600)
            (folder / "url").write_text(database)
        config = folder / "exporter.yml"
        # Every JSON document is YAML too.
        config.write_text(json.dumps(settings))
        self.logs: list[dict[str, Any]] = []
        self.url = ""
        self._serves = threading.Event()
        self._reads = True
        clean = {name: value for name, value in os.environ.items() if not name.startswith("EDGE_EXPORTER_")}
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "exporter", "run", "--config", config],
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=clean,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._serves.wait(PATIENCE)
        if not self.url:
            # A process that is left behind would fail a later test, in which its object is collected.
            self.end(signal.SIGKILL)
            raise AssertionError(f"the exporter did not start: {self.logs}")

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if not self._reads:
                break
            entry = json.loads(line) if line.startswith("{") else {"event": line.strip()}
            self.logs.append(entry)
            if entry["event"] == "serving":
                self.url = entry["url"].removesuffix("/metrics")
                self._serves.set()
        self._serves.set()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Return whether the process is still running."""
        return self._process.poll() is None

    def fill_log(self) -> None:
        """Stop reading its log, so that the pipe fills."""
        stderr = self._process.stderr
        assert stderr is not None
        # A pipe of one page: it is full for a writer as soon as it contains anything.
        fcntl.fcntl(stderr, fcntl.F_SETPIPE_SZ, 4096)
        self._reads = False

        def is_full() -> bool:
            self.send(signal.SIGHUP)
            return any(fcntl.ioctl(stderr, termios.FIONREAD, bytes(4)))

        wait_until(is_full, "a line that waits in the log's pipe")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    @property
    def events(self) -> list[str]:
        """Return the logged events, without their facts."""
        return [entry["event"] for entry in self.logs]

    def samples(self, family: str, label: str) -> dict[str, float]:
        """Return the values of a family, by one of its labels."""
        return samples_of(self.text(f"/metrics?name[]={family}"), family, label)

    def text(self, path: str) -> str:
        """Return the body of a path."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=PATIENCE) as answer:  # noqa: S310 - on the loopback
            return str(answer.read().decode())

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and wait for the process to end; return its exit code."""
        self._process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the process to end by itself; return its exit code."""
        try:
            return self._process.wait(PATIENCE)
        finally:
            if self.is_running():
                self._process.kill()
                self._process.wait()
            self._reader.join()
            assert self._process.stderr is not None
            self._process.stderr.close()


@contextmanager
def exporter_running(settings: Mapping[str, Any], folder: Path) -> Iterator[Exporter]:
    """Run an exporter until the block ends."""
    exporter = Exporter(settings, folder)
    try:
        yield exporter
    finally:
        if exporter.is_running():
            exporter.end()
