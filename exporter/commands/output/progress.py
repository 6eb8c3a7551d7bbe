"""Draws a progress bar on standard error, which is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield what draws the bar of several works, from the name of a work, what is done of it, and its total."""
    done: dict[str, int] = {}
    totals: dict[str, int] = {}
    with click.progressbar(length=0, show_pos=True, file=sys.stderr) as bar:

        def draw(name: str, finished: int, total: int) -> None:
            totals[name], former = total, done.get(name, 0)
            done[name] = finished
            bar.length = sum(totals.values())
            bar.update(finished - former)

        yield draw
