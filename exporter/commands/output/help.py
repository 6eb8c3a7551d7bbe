"""Help texts that fit the terminal, down to forty columns."""

import shutil
from collections.abc import Iterable

import click

_WIDEST = 110
_NARROWEST = 30
# Below this width a term and its meaning do not fit beside each other.
_TWO_COLUMNS = 60


class Formatter(click.HelpFormatter):
    """Writes a term above its meaning where the terminal is too narrow for both side by side."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of terms and their meanings."""
        if self.width >= _TWO_COLUMNS:
            super().write_dl(list(rows), col_max, col_spacing)
            return
        for term, meaning in rows:
            self.write_text(term)
            if meaning:
                self.indent()
                self.write_text(meaning)
                self.dedent()


class Context(click.Context):
    """A context whose help is as wide as the terminal; click's own is never narrower than fifty columns."""

    def make_formatter(self) -> click.HelpFormatter:
        """Make the formatter of a help text."""
        return Formatter(width=max(min(shutil.get_terminal_size().columns, _WIDEST) - 2, _NARROWEST))


class Command(click.Command):
    """A command whose help text fits the terminal."""

    context_class = Context
