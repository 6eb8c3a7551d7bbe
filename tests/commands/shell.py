"""Runs the command line like a user, in this process or in a separate one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from exporter.cli import command
from tests.waiting import END_SECONDS

OURS = ("EDGE_EXPORTER_", "PLATFORM_DATABASE_", "_EDGE_EXPORTER_")
PROGRAM = (sys.executable, "-m", "exporter")


@dataclass(frozen=True)
class Ended:
    """The result of a command: its output, and its exit code."""

    out: str
    err: str
    code: int


def clean(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without the exporter's variables, and with the given ones."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OURS)} | dict(environ or {})


def invoke(*words: str | Path, stdin: str | bytes | None = None, environ: Mapping[str, str] | None = None) -> Ended:
    """Run a command in this process, without a terminal."""
    env: dict[str, str | None] = {name: None for name in os.environ if name.startswith(OURS)}
    result = CliRunner().invoke(command, [str(word) for word in words], input=stdin, env=env | dict(environ or {}))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.stdout, result.stderr, result.exit_code)


class Process:
    """A command in a separate process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def read_until(self, text: str) -> str:
        """Return its output up to the end of the line that contains a text."""
        assert self._process.stdout is not None
        seen = ""
        for line in self._process.stdout:
            seen += line
            if text in line:
                return seen
        raise AssertionError(f"{text!r} did not come; what came is {seen!r}")

    def read_addresses(self) -> dict[str, str]:
        """Return the addresses that `demo` or `sandbox` prints, by their names, when it has printed everything."""
        lines = self.read_until("Stop with Ctrl-C").splitlines()
        words = [line.strip().split("  ") for line in lines if "  http://" in line]
        return {word[0]: word[-1].strip() for word in words}

    def read_log(self, event: str) -> dict[str, Any]:
        """Return the next line of its JSON log with this event."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            reported: dict[str, Any] = json.loads(line)
            if reported["event"] == event:
                return reported
        raise AssertionError(f"{event!r} was not logged")

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def wait(self) -> Ended:
        """Wait for the end; return the exit code and the further output. The time limit allows for a slow end."""
        out, err = self._process.communicate(timeout=END_SECONDS)
        return Ended(out, err, self._process.returncode)


@contextmanager
def process(
    *words: str | Path,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stderr: int = subprocess.PIPE,
) -> Iterator[Process]:
    """Start a command in a separate process; at the end it is interrupted, and killed if it does not end."""
    with subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=clean({"PYTHONUNBUFFERED": "1", **(environ or {})}),
        cwd=cwd,
    ) as started:
        try:
            yield Process(started)
        finally:
            # After an interrupt, it removes its files and stops its processes.
            started.terminate()
            try:
                started.wait(timeout=END_SECONDS)
            except subprocess.TimeoutExpired:
                started.kill()
