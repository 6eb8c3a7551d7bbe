"""A simulated user at a terminal."""

import os
import pty
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from tests.commands.shell import PROGRAM, clean


@dataclass(frozen=True)
class Session:
    """The text on the terminal, and the exit code."""

    seen: str
    code: int


def type_in(words: str, environ: Mapping[str, str]) -> Session:
    """Run a command on a terminal of 80 columns until it ends."""
    pid, terminal = pty.fork()
    if pid == 0:
        environ = clean({"COLUMNS": "80", "TERM": "xterm", **environ})
        os.execve(sys.executable, [*PROGRAM, *words.split()], environ)  # noqa: S606
    seen = b""
    try:
        while read := os.read(terminal, 65_536):
            seen += read
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return Session(seen.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(status))
