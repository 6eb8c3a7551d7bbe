"""Formats help texts for the width of the terminal, down to forty columns."""

import re
import shutil
import textwrap
from collections.abc import Iterable

import click

_WIDEST = 110
_NARROWEST = 30
# Below this width a term and its meaning do not fit on one line.
_TWO_COLUMNS = 60
# The indentation of the arguments that follow a long command on the next line.
_HANGING = 8
_ENTRY = re.compile(r" *[0-9]  ")


class Formatter(click.HelpFormatter):
    """Writes a term above its meaning where the terminal is too narrow for both side by side."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how a command is called; a word such as `DATE-TIME` is never broken."""
        lead = f"{prefix or 'Usage: '}{prog} "
        indent = " " * (len(lead) if len(lead) <= self.width / 2 else _HANGING)
        lines = wrap(lead + args, max(self.width, _NARROWEST), initial_indent="", subsequent_indent=indent)
        self.write("\n".join(lines) + "\n")

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

    def write_text(self, text: str) -> None:
        """Write a paragraph; a name such as `--help-all` is never broken at its hyphens."""
        indent = " " * self.current_indent
        for line in wrap(text, max(self.width, _NARROWEST), initial_indent=indent, subsequent_indent=indent):
            self.write(f"{line}\n")


def wrap(text: str, width: int, *, initial_indent: str, subsequent_indent: str) -> list[str]:
    """Break a text into lines at blanks; paragraphs that start with click's mark keep their lines."""
    lines: list[str] = []
    for number, paragraph in enumerate(text.split("\n\n")):
        lines += [""] if number else []
        if paragraph.startswith("\b\n"):
            for line in paragraph.splitlines()[1:]:
                lines += _kept(f"{subsequent_indent}{line}", width)
        else:
            lines += textwrap.wrap(
                " ".join(paragraph.split()),
                width,
                initial_indent=initial_indent,
                subsequent_indent=subsequent_indent,
                break_on_hyphens=False,
            )
    return lines


def _kept(line: str, width: int) -> list[str]:
    """Return a line unbroken, unless it is an entry of a list, such as `1  refused`, which is broken below its text."""
    entry = _ENTRY.match(line)
    if entry is None:
        return [line]
    return textwrap.wrap(
        line[entry.end() :], width, initial_indent=entry.group(), subsequent_indent=" " * entry.end(),
        break_on_hyphens=False,
    )  # fmt: skip


class Context(click.Context):
    """A context whose help is as wide as the terminal; click's own is never narrower than fifty columns."""

    def make_formatter(self) -> click.HelpFormatter:
        """Make the formatter of a help text."""
        return Formatter(width=max(min(shutil.get_terminal_size().columns, _WIDEST) - 2, _NARROWEST))


class Group(click.Group):
    """A group of commands whose help fits the terminal."""

    context_class = Context


class Command(click.Command):
    """A command whose help text fits the terminal."""

    context_class = Context
