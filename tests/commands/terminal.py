"""A simulated user at a terminal."""

import os
import pty
import sys
from collections.abc import Mapping

from tests.commands.shell import PROGRAM, Ended, clean


def type_in(words: str, environ: Mapping[str, str]) -> Ended:
    """Run a command on a terminal of 80 columns until it ends; the terminal shows errors, too, as output."""
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
    return Ended(seen.decode().replace("\r\n", "\n"), "", os.waitstatus_to_exitcode(status))
