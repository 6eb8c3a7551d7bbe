"""HTML that is safe to put together: text is escaped where it enters, and nowhere else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from exporter.web.page.wording import ago, instant, moment

# These would break a line, end the input, or turn the direction of what follows.
_UNSEEN = dict.fromkeys(
    (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF),
    "\N{REPLACEMENT CHARACTER}",
)
_UNSEEN |= dict.fromkeys((0x09, 0x0A, 0x0D, 0x85, 0x2028, 0x2029), " ")
_LONGEST = 300

NOTHING = '<span class="none">&ndash;</span>'


def text(value: str) -> str:
    """A text of ours, or one of which nobody else has a say."""
    return escape(value)


def foreign(value: str) -> str:
    """A text that others chose: on one line, no longer than can be read, its direction its own affair."""
    return f"<bdi>{plain(value)}</bdi>"


def plain(value: str) -> str:
    """The same for an attribute, where no markup can stand."""
    shown = value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
    return escape(shown.translate(_UNSEEN))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        kind: `number` where its cells stand on the right.
        explanation: what it tells, where its title does not say all.
    """

    title: str
    kind: str = ""
    explanation: str = ""

    def head(self) -> str:
        """Its head."""
        explained = f' title="{text(self.explanation)}"' if self.explanation else ""
        return f'<th scope="col"{self.of_kind()}{explained}>{text(self.title)}</th>'

    def of_kind(self) -> str:
        """The attribute of its cells."""
        return f' class="{self.kind}"' if self.kind else ""


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """A table whose rows are headed by their first cell; the cells are markup already."""
    heads = "".join(column.head() for column in columns)
    body = "".join(
        f'<tr><th scope="row">{first}</th>'
        + "".join(
            f'<td{column.of_kind()} data-head="{text(column.title)}">{cell}</td>'
            for column, cell in zip(columns[1:], cells, strict=True)
        )
        + "</tr>"
        for first, *cells in rows
    )
    return framed(caption, f"<caption>{text(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody>")


def framed(name: str, content: str) -> str:
    """A table in a frame that scrolls where the window is narrow, by keys too."""
    return f'<div class="frame" role="group" aria-label="{text(name)}" tabindex="0"><table>{content}</table></div>'


def when(seconds: float, now: float) -> str:
    """A moment as its age, with the moment itself for who wants it."""
    return f'<time datetime="{instant(seconds)}" title="{moment(seconds)}">{ago(max(0.0, now - seconds))}</time>'
