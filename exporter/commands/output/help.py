"""Formats help texts for the width of the terminal, down to forty columns; click's are never narrower than fifty."""

import re
import shutil
from collections.abc import Iterable

import click

_WIDEST = 110
_NARROWEST = 30
# Below this width a term and its meaning do not fit on one line.
_TWO_COLUMNS = 60
# Stands for a hyphen while click breaks lines, so that a name such as `--help-all` is never broken.
_HYPHEN = "\N{NON-BREAKING HYPHEN}"


class Formatter(click.HelpFormatter):
    """Writes a term above its meaning where the terminal is too narrow for both side by side."""

    def __init__(self, *_args: object, **_options: object) -> None:
        super().__init__(width=max(min(shutil.get_terminal_size().columns, _WIDEST) - 2, _NARROWEST))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how a command is called."""
        super().write_usage(prog, args.replace("-", _HYPHEN), prefix)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of terms and their meanings."""
        whole = [(term, meaning.replace("-", _HYPHEN)) for term, meaning in rows]
        if self.width >= _TWO_COLUMNS:
            super().write_dl(whole, col_max, col_spacing)
            return
        for term, meaning in whole:
            self.write_text(term)
            if meaning:
                with self.indentation():
                    self.write_text(meaning)

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        super().write_text(text.replace("-", _HYPHEN))

    def getvalue(self) -> str:
        """Return the text."""
        return re.sub(" +\n", "\n", super().getvalue().replace(_HYPHEN, "-"))


class Context(click.Context):
    """A context whose help fits the terminal; the command line gives it to every command."""

    formatter_class = Formatter
