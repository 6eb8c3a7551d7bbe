"""Draws a progress bar on standard error, which is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None]]:
    """Yield what draws the bar, from what is done and its total, which may grow."""
    with click.progressbar(length=0, show_pos=True, file=sys.stderr) as bar:

        def draw(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield draw
