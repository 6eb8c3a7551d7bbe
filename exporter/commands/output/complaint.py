"""How a command ends that cannot do what it was asked: a message on standard error and an exit code, never a trace."""

import sys
from typing import NoReturn

import click

FAULT = 1
MISUSE = 2


def complain(message: str, code: int = FAULT) -> NoReturn:
    """End the command; the message may have several lines."""
    click.echo(message, err=True)
    sys.exit(code)
