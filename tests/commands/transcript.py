"""Runs the command lines of a golden file.

A case has a line `$ WORDS`, as a shell reads them, perhaps after variables or `env -i`; `<x 5000>` is x 5,000 times.
Lines above it may be comments (`# `), and files that are written into the working directory (`file NAME JSON`). Lines
below it are the output of the command, and its exit code.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.commands.shell import invoke
from tests.golden import assert_golden
from tests.sandbox.test_answers import REPEATED


def given(case: str) -> list[str]:
    """Return the lines of a case that are not written by the test."""
    return [line for line in case.splitlines() if line.startswith(("# ", "file ", "fault ", "answer ", "$ "))]


def assert_cases(path: Path, run: Callable[[str], Iterable[str]]) -> None:
    """Run each case of a golden file, and compare the file with the cases and the lines that each gives."""
    cases = path.read_text(encoding="utf-8").strip().split("\n\n")
    assert_golden("\n\n".join("\n".join([*given(case), *run(case)]) for case in cases) + "\n", path)


def printed(case: str, environ: Mapping[str, str], *program: str, stdin: str | None = None) -> list[str]:
    """Run the command line of a case, with these words before it; return what it prints, and its exit code."""
    *above, line = (REPEATED.sub(lambda found: found[1] * int(found[2]), one) for one in given(case))
    for name, text in (one.split(" ", 2)[1:] for one in above if one.startswith("file ")):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(json.loads(text), encoding="utf-8")
    words = shlex.split(line.removeprefix("$ "))
    if words[:2] == ["env", "-i"]:
        words, environ = words[2:], {}
    while words and re.match(r"\w+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environ = {**environ, name: value}
    ended = invoke(*program, *words, environ=environ, stdin=stdin)
    # The usage of the command is printed above the error.
    err = ended.err[max(0, ended.err.find("Error: ")) :]
    shown = [f"out {line}" for line in ended.out.splitlines()] + [f"err {line}" for line in err.splitlines()]
    # The resolver's message depends on the machine.
    shown = [re.sub(r"\.invalid.*", ".invalid…", line.replace(f"{Path.cwd()}/", "")) for line in shown]
    return [*(line[:300] for line in shown), f"exit {ended.code}"]
