"""Reads the values of `-` (standard input) and `@FILE` on the command line."""

import sys
from pathlib import Path

import click

from exporter.commands.call.arguments import SourceError
from exporter.regular_file import unreadable

STANDARD_INPUT = "-"


class Sources:
    """Reads standard input, at most once, and files."""

    def __init__(self) -> None:
        self._is_spent = False

    def __call__(self, text: str, *, secret: bool) -> str:
        """Return the text, without the line break at its end.

        Args:
            text: `-` or `@FILE`.
            secret: whether typed text is hidden.

        Raises:
            SourceError: it cannot be read.
        """
        try:
            whole = self._standard_input(secret=secret) if text == STANDARD_INPUT else _file(Path(text[1:]))
        except UnicodeDecodeError:
            what = "standard input" if text == STANDARD_INPUT else text[1:]
            raise SourceError(f"{what} is not UTF-8 text") from None
        return whole.removesuffix("\n").removesuffix("\r")

    def _standard_input(self, *, secret: bool) -> str:
        if self._is_spent:
            raise SourceError("another argument already takes standard input")
        self._is_spent = True
        if secret and sys.stdin.isatty():
            typed: str = click.prompt("Secret", hide_input=True, err=True, default="", show_default=False)
            return typed
        return sys.stdin.buffer.read().decode()


def _file(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise SourceError(f"{path} {unreadable(error)}") from None
    except ValueError as error:
        if isinstance(error, UnicodeDecodeError):
            raise
        raise SourceError("is not the name of a file") from None
