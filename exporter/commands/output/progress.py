"""Draws progress bars on standard error, which is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from exporter.foreign.terminal import escape


@contextmanager
def progress_bars() -> Iterator[Callable[..., None]]:
    """Yield what draws a bar, from its name, what is done, the total, and a note; at the end of the block they go."""
    from rich.console import Console  # noqa: PLC0415 - loaded where there is a bar to draw
    from rich.markup import escape as as_plain_text  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    text, note_text = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), note_text)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def draw(name: str, done: int, total: int, note: str = "") -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(as_plain_text(escape(name)), note="")
            bars.update(tasks[name], completed=done, total=total, note=note)

        yield draw
