"""The documents name only existing things: targets of the Makefile, commands of the program and their options."""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

from exporter.cli import COMMANDS, command, load_command
from exporter.commands.metrics import sections
from exporter.metric import Kind

ROOT = Path(__file__).parents[1]
OURS = ("dashboards", "deploy", "docs", "exporter", "tests")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(path for folder in OURS for path in (ROOT / folder).rglob("*.md"))])

_BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
_SEPARATOR = re.compile(r"\s*(?:&&|\|\||[|;>])\s*")
_CALLS = (("edge-exporter",), ("python", "-m", "exporter"))


def spans(text: str) -> list[str]:
    """Return the texts that are marked as code in the prose."""
    return [" ".join(span.split()) for span in _SPAN.findall(text)]


def commands(text: str) -> Iterator[list[str]]:
    """Return the words of each command in a document: in the lines of its code blocks, and in code within the prose."""
    lines = "\n".join(_BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    for line in [*lines, *spans(_BLOCK.sub("", text))]:
        for part in _SEPARATOR.split(re.sub(r"(?:^|\s)#\s.*", "", line)):
            if words := part.split():
                yield [words[0].rpartition("/")[2], *words[1:]]


def targets_named(text: str) -> set[str]:
    """Return the Makefile's targets that a document names."""
    return {words[1] for words in commands(text) if words[0] == "make" and len(words) > 1}


def calls(text: str) -> list[list[str]]:
    """Return the calls of the program that a document shows: the words after its name."""
    return [words[len(call) :] for words in commands(text) for call in _CALLS if tuple(words[: len(call)]) == call]


def faults(words: list[str]) -> list[str]:
    """Return the parts of a call that do not exist: the command, or options of it."""
    if not words or words[0].startswith("-"):
        return []
    # With the group's settings: click keeps the help option that it makes here.
    context = click.Context(command, **command.context_settings)
    if words[0] not in COMMANDS:
        return [words[0]]
    found = load_command(words[0])
    if isinstance(found, click.Group) and len(words) > 1:
        found = found.commands.get(words[1], found)
    options = found.get_params(context)
    known = {name for option in options for name in (*option.opts, *option.secondary_opts)}
    return [word for word in words[1:] if word.startswith("--") and word.partition("=")[0] not in known]


def targets() -> set[str]:
    """Return the targets of the Makefile."""
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_documents_name_only_commands_that_there_are() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in DOCUMENTS}
    assert sum(len(calls(text)) for text in texts.values()) > 50
    assert [(name, fault) for name, text in texts.items() for fault in targets_named(text) - targets()] == []
    assert [(name, fault) for name, text in texts.items() for words in calls(text) for fault in faults(words)] == []


# Only the table of CONTRIBUTING.md, because the text below it names a file that does not exist yet.
@pytest.mark.parametrize(("name", "lines"), [("CONTRIBUTING.md", r"^\|.*"), ("docs/architecture.md", r"^.+")])
def test_the_files_and_folders_that_a_guide_names_exist(name: str, lines: str) -> None:
    absent = []
    for line in re.findall(lines, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE):
        # A file is named after its folder.
        folders = [ROOT, ROOT / "exporter"]
        for path in re.findall(r"`([\w./]+(?:/|\.py))`", line):
            found = [folder / path for folder in folders if (folder / path).exists()]
            folders += found
            absent += [] if found else [path]
    assert absent == []


def test_each_counter_has_a_row_in_the_page_of_guarantees() -> None:
    counters, _, _ = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8").partition("## Gauges")
    named = [name for row in counters.splitlines() for name in re.findall(r"`(edge_[a-z_*]+)`", row.split(" | ")[0])]
    families = [info.name for _, _, infos in sections() for info in infos if info.kind is Kind.COUNTER]
    assert [name for name in families if not any(fnmatch(name, pattern) for pattern in named)] == []
    assert all("guarantees.md" in (ROOT / page).read_text() for page in ("README.md", "docs/limitations.md"))
