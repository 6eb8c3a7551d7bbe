"""Prints messages, with control characters escaped, and ends commands after a fault."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from exporter.untrusted.terminal import escape

FAULT = 1
MISUSE = 2


def echo(message: str, *, err: bool = False) -> None:
    """Print a message on standard output or (`err`) standard error; escape control characters except line breaks."""
    click.echo(escape(message, keep="\n"), err=err)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 target`, `2 queries`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def complain(message: str, code: int = FAULT) -> NoReturn:
    """Print a message on standard error, and end the command with an exit code."""
    echo(message, err=True)
    sys.exit(code)


@contextmanager
def complaining(*errors: type[Exception], code: int = FAULT) -> Iterator[None]:
    """If the block raises one of these errors, end the command with the error's message and an exit code."""
    try:
        yield
    except errors as error:
        complain(str(error), code)
