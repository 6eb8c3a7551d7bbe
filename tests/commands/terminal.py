"""A simulated user at a terminal."""

import os
import pty
import select
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.commands.shell import PROGRAM, clean
from tests.waiting import PATIENCE

CTRL_C = "\x03"
AGAIN_SECONDS = 5.0


@dataclass(frozen=True)
class Session:
    """The text on the terminal, and the exit code."""

    seen: str
    code: int


def type_in(
    words: Sequence[str], answers: Sequence[tuple[str, str]], environ: Mapping[str, str], out: Path | None = None
) -> Session:
    """Run a command on a terminal of 80 columns, its output in a file if given; type answers when texts appear."""
    pid, terminal = pty.fork()
    if pid == 0:
        if out is not None:
            os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
        os.execve(sys.executable, [*PROGRAM, *words], clean({"COLUMNS": "80", "TERM": "xterm", **environ}))  # noqa: S606
    seen, waiting, typed, seen_before = b"", list(answers), "", 0
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], AGAIN_SECONDS)[0]:
                # A Ctrl-C that comes just before a read begins is not heard; a person who sees no more than its echo
                # presses it again.
                if typed == CTRL_C and seen[seen_before:] in {b"", b"^C"}:
                    os.write(terminal, CTRL_C.encode())
                continue
            try:
                read = os.read(terminal, 65_536)
            except OSError:  # the other end is closed
                break
            seen += read
            if waiting and waiting[0][0].encode() in seen:
                typed, seen_before = waiting.pop(0)[1], len(seen)
                os.write(terminal, typed.encode())
    finally:
        os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return Session(seen.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(status))
