"""Writes what is generated from the code: the references of metrics and commands, the interface's table, the example.

    python docs/generate.py           write them
    python docs/generate.py --check   write nothing; name the files that differ, and exit 1

A section of a file that is otherwise written by hand stands between two comments, `generated: begin` and
`generated: end`.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from exporter.cli import command as command_line
from exporter.collectors.catalogue import CATALOGUE
from exporter.commands.call.operations import names as callable_names
from exporter.commands.options import SettingsCommand
from exporter.commands.output.help import Context
from exporter.commands.reference import as_markdown
from exporter.platform.api.catalogue import OPERATIONS
from exporter.settings.types import format_duration

REPOSITORY = Path(__file__).resolve().parents[1]
_SECTION = re.compile(r"(# generated: begin[^\n]*\n)(.*?)([ \t]*# generated: end)", re.DOTALL)


def interface() -> str:
    """The platform's operations as a page: who asks for each, and what it is called on the command line."""
    lines = [
        "# The platform's interface, and where it is",
        "",
        "Generated from the code. Every operation of the interface document is carried out by the client, answered by",
        "the sandbox and can be called by `edge-exporter call`. Those marked *not documented* are known from",
        "deployments; the exporter works without them.",
        "",
        "| operation | collector | `call` |",
        "|---|---|---|",
    ]
    rows: dict[str, tuple[list[str], list[str]]] = {}
    for operation in OPERATIONS:
        request = f"`{operation.method} {operation.path}`" + ("" if operation.documented else " (not documented)")
        collectors, calls = rows.setdefault(request, ([], []))
        collectors += [
            f"`{collector.name}`"
            for collector in CATALOGUE
            if any((one.method, one.path) == (operation.method, operation.path) for one in collector.operations)
            and f"`{collector.name}`" not in collectors
        ]
        if operation.name in callable_names():
            calls.append(f"`{operation.name}`")
    for request, (collectors, calls) in rows.items():
        lines.append(f"| {request} | {', '.join(collectors) or 'none (writes)'} | {', '.join(calls)} |")
    return "\n".join(lines) + "\n"


def example_collectors() -> str:
    """The section `collectors` of the example configuration, with every collector's default interval."""
    lines = ["collectors:"]
    lines += [
        f"  {collector.name}: {{enabled: true, interval: {format_duration(collector.interval)}, stale_after: null}}"
        for collector in CATALOGUE
        if collector.section == collector.name
    ]
    return "\n".join(lines) + "\n"


def commands() -> str:
    """The reference of the commands: the help text of each, with every flag of the settings once, at `run`."""
    lines = [
        "# Commands",
        "",
        "Generated from the code: what each command prints for `--help`, and `run` for `--help-all`. `check`,",
        "`backfill` and `config show` take every flag of `run` as well. `edge-exporter config init` writes a first",
        "configuration file; `edge-exporter config show` says what set each value.",
    ]
    for path, command in _every_command(command_line, ("edge-exporter",)):
        context = Context(command, info_name=" ".join(path), **command_line.context_settings)
        if isinstance(command, SettingsCommand) and path[-1] == "run":
            text = command.whole_help(context)
        else:
            text = command.get_help(context)
        lines += ["", f"## {' '.join(path[1:]) or 'edge-exporter'}", "", "```text", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _every_command(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = Context(command, **command_line.context_settings)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _every_command(inner, (*path, name))


def with_section(path: Path, section: str) -> str:
    """The text of a file whose generated section is replaced.

    Raises:
        ValueError: the file has no such section.
    """
    text, replaced = _SECTION.subn(
        lambda found: found[1] + section + found[3], path.read_text(encoding="utf-8"), count=1
    )
    if not replaced:
        raise ValueError(f"{path}: there is no section between '# generated: begin' and '# generated: end'")
    return text


def documents() -> Mapping[Path, str]:
    """Every generated file, and what it has to hold."""
    example = REPOSITORY / "deploy" / "edge-exporter.yml"
    return {
        REPOSITORY / "docs" / "metrics.md": as_markdown(),
        REPOSITORY / "docs" / "interface.md": interface(),
        REPOSITORY / "docs" / "commands.md": commands(),
        example: with_section(example, example_collectors()),
    }


def main() -> int:
    """Write the files, or check them."""
    # Help texts are as wide as the terminal.
    os.environ["COLUMNS"] = "100"
    differing = [
        path for path, text in documents().items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        for path in differing:
            print(
                f"{path.relative_to(REPOSITORY)} is not what docs/generate.py writes: run 'make generate'",
                file=sys.stderr,
            )
        return 1 if differing else 0
    for path in differing:
        path.write_text(documents()[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
