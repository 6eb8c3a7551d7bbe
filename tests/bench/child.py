"""Starts a process that is measured, measures it from outside, and stops it."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PATIENCE = 120.0
STEP = 0.005
STOP_SECONDS = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Child:
    """A running process, and the URL of its metrics."""

    popen: "subprocess.Popen[str]"
    url: str = ""

    def rss(self) -> float:
        """Return the resident memory in MiB."""
        for line in Path(f"/proc/{self.popen.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"process {self.popen.pid} has ended")

    def cpu(self) -> float:
        """Return the seconds of processor time that it has used."""
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def stop(self) -> str:
        """End the process, and return its output since the last read."""
        self.popen.terminate()
        try:
            return self.popen.communicate(timeout=STOP_SECONDS)[0] or ""
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.communicate()[0] or ""


@contextmanager
def started(
    command: Sequence[str], *, url: str = "", quiet: bool = True, environment: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Run a command until the block ends; the block begins when `url` answers.

    Args:
        command: the program and its arguments.
        url: the URL that must answer; if empty, the command prints it as JSON in its first line.
        quiet: whether its standard error is discarded.
        environment: additional environment variables.
    """
    popen = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        if url:
            await_answer(url, popen)
        else:
            line = popen.stdout.readline() if popen.stdout is not None else ""
            if not line:
                raise RuntimeError(f"{' '.join(command)} ended before it served")
            url = json.loads(line)["url"]
        yield Child(popen, url)
    finally:
        if popen.poll() is None:
            Child(popen).stop()


def own(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of the benchmark."""
    return [sys.executable, "-m", module, *arguments]


def await_answer(url: str, popen: "subprocess.Popen[str] | None" = None) -> None:
    """Wait until a URL answers 200."""
    parts = urlsplit(url)
    until = time.monotonic() + PATIENCE
    while True:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
        try:
            connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
            answer = connection.getresponse()
            answer.read()
            if answer.status == http.client.OK:
                return
        except OSError:
            pass
        finally:
            connection.close()
        if time.monotonic() > until or (popen is not None and popen.poll() is not None):
            raise RuntimeError(f"{url} does not answer")
        time.sleep(STEP)
