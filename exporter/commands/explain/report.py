"""Formats the answer of `/api/v1/explain`: a summary by cause, or each absence with its evidence and advice."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from exporter.commands.output.table import lay_out
from exporter.foreign.terminal import escape

MOST_TARGETS = 5
_COLUMNS = ("FAMILIES", "TARGETS", "COLLECTOR", "CAUSE", "MEANING")

# The fields of an answer of the exporter's API.
Answer = Mapping[str, Any]


def summary(answer: Answer, width: int | None) -> str:
    """Return how many families are absent, by collector and cause."""
    rows = [
        (str(row["families"]), str(row["targets"]), row["collector"], row["cause"], row["text"])
        for row in answer["summary"]
    ]
    series = f"{answer['series']:,} series are exposed."
    if not rows:
        return f"{series} Every family that could be there has series."
    number = answer["absent_families"]
    head = f"{series} {number:,} {'family has' if number == 1 else 'families have'} no series, counted for each target:"
    return f"{head}\n\n{lay_out(_COLUMNS, rows, width, folded=('MEANING', 'COLLECTOR', 'CAUSE'))}"


def details(answer: Answer, width: int | None) -> str:
    """Return the absences; those of one collector, cause and set of families are grouped."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Answer]] = {}
    for absence in answer["absences"]:
        key = (absence["cause"], absence["collector"], tuple(absence["families"]))
        groups.setdefault(key, []).append(absence)
    return "\n\n".join("\n".join(_group(alike, width)) for alike in groups.values())


def _group(alike: Sequence[Answer], width: int | None) -> Iterator[str]:
    first = alike[0]
    yield from _wrapped(f"{', '.join(first['families'])}", "", width)
    yield from _wrapped(f"cause:    {first['cause']}: {first['text']}", "  ", width)
    for absence in alike[:MOST_TARGETS]:
        name = f" ({absence['name']})" if absence["name"] and absence["name"] not in absence["target"] else ""
        account = f" of {absence['account']}" if absence["account"] else ""
        yield from _wrapped(f"target:   {absence['target']}{name}{account}, by {absence['collector']}", "  ", width)
        yield from _wrapped(f"evidence: {absence['evidence']}", "  ", width)
    if len(alike) > MOST_TARGETS:
        yield f"  … and {len(alike) - MOST_TARGETS:,} more targets alike (-o json lists them)"
    yield from _wrapped(f"to do:    {first['advice']}", "  ", width)


def _wrapped(line: str, indent: str, width: int | None) -> Iterator[str]:
    line = escape(line)
    if width is None:
        yield indent + line
        return
    hanging = indent + " " * 4
    yield from textwrap.wrap(
        line, max(width, 20), initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False
    )
