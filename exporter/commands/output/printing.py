"""Prints for people: lines in which foreign text cannot steer the terminal."""

import click

from exporter.terminal import escape


def echo(message: str, *, err: bool = False) -> None:
    """Print a message of one or more lines; every other control character in it is escaped.

    Args:
        message: what to print. Foreign text that may hold line breaks is escaped by the caller.
        err: print on standard error instead of standard output.
    """
    click.echo(escape(message, keep="\n"), err=err)
