"""Writes generated documents, such as the references of metrics, settings, commands and the interface.

    python -m docs.generate           write the files
    python -m docs.generate --check   write nothing; name the files that differ, and exit 1 if there are any

Of some files, only a part between two comments is generated.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import get_args, get_origin

import click
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from deploy import generate_relabeling
from docs import project_urls
from docs.man_page import man_page
from exporter.cli import command as command_line
from exporter.collectors.catalogue import CATALOGUE
from exporter.commands.call.subcommands import CALLABLE
from exporter.commands.metrics import as_markdown
from exporter.platform.api.operations import OPERATIONS
from exporter.settings.flags import CONFIG_VARIABLE, DATABASE_VARIABLES, FIRST_ACCOUNT, Flag, flags, variables
from exporter.settings.model import Settings
from exporter.validation.configuration_errors import KeyPath
from exporter.validation.section import Section
from exporter.validation.types import format_duration

REPOSITORY = Path(__file__).resolve().parents[1]
_SECTION = re.compile(r"(# generated: begin[^\n]*\n)(.*?)([ \t]*# generated: end)", re.DOTALL)


def interface() -> str:
    """Return the page of the platform's operations, with their collectors and their names on the command line."""
    lines = [
        "# The platform's interface",
        "",
        "Generated from the code. The table has the operations of the interface document, the collectors that use",
        "them, and the operations' names in `edge-exporter call`. Operations that are marked *not documented* are not",
        "in the interface document, and are known from deployments;",
        "[limitations](limitations.md#the-platforms-interface) says what changes if a platform lacks such an",
        "operation. The sandbox answers all operations of the table.",
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
        if operation.name in CALLABLE:
            calls.append(f"`{operation.name}`")
    for request, (collectors, calls) in rows.items():
        lines.append(f"| {request} | {', '.join(collectors) or 'none (writes)'} | {', '.join(calls)} |")
    return "\n".join(lines) + "\n"


def example_collectors() -> str:
    """Return the section `collectors` of the example configuration, with the default intervals."""
    lines = ["collectors:"]
    lines += [
        f"  {collector.name}: {{enabled: true, interval: {format_duration(collector.interval)}, stale_after: null}}"
        for collector in CATALOGUE
        if collector.section == collector.name
    ]
    return "\n".join(lines) + "\n"


def configuration() -> str:
    """Return the page of all configuration keys: default, flag, variable and meaning."""
    lines = [
        "# Every setting",
        "",
        "Generated from the code. [edge-exporter.yml](../deploy/edge-exporter.yml) is a commented example with every",
        "key; `edge-exporter assets configuration DIR` writes it.",
        "",
        f"The file is named by `--config` or the variable `{CONFIG_VARIABLE}`. Flags win over `EDGE_EXPORTER_…`",
        "variables, and variables over the file. A key with neither a flag nor a variable can only be set in the file.",
        "",
        "A wrong configuration is refused, and the message says where the faults are. While values are wrong, the",
        "message may leave out other faults: keys that conflict, and names that are used twice or refer to nothing.",
        "",
        "Durations are written `30s`, `5m`, `1h30m` or `1d`. Patterns are regular expressions.",
    ]
    flag_by_path = {flag.path: flag for flag in flags()}
    # The section and the key → the variable.
    variable_by_key: dict[tuple[str, ...], str] = {
        (str(path[0]), str(path[-1])): name for name, path in (variables() | DATABASE_VARIABLES).items()
    }
    for key, field in Settings.model_fields.items():
        section = _section(field)
        if section is None:
            lines += ["", f"## {key}", "", f"{field.description} {_default(field, None)} by default."]
            continue
        lines += ["", f"## {key}", "", (section.__doc__ or "").strip().splitlines()[0], ""]
        if get_origin(field.annotation) is tuple:
            lines += ["This key is a list of entries with these keys:", ""]
        lines += ["| key | default | flag, variable | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{'.'.join(path)}` | {_default(leaf, flag_by_path.get(path))} | "
            f"{_given_by(path, flag_by_path, variable_by_key)} | {_escaped_cell(leaf.description or '')} |"
            for path, leaf in _leaves(section, (key,))
        ]
    return "\n".join(lines) + "\n\n" + (REPOSITORY / "docs" / "environment.md.in").read_text(encoding="utf-8")


def _section(field: FieldInfo) -> type[Section] | None:
    """Return the section below a key, or of the entries of its list; None if the key has a value."""
    kind: object = field.annotation
    if get_origin(kind) in (tuple, UnionType):
        kind = get_args(kind)[0]
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def _leaves(section: type[Section], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Yield every key with a value below a section; keys of a list's entries are written `list[].key`."""
    for key, field in section.model_fields.items():
        inner = _section(field)
        if inner is None:
            yield (*path, key), field
        else:
            step = f"{key}[]" if get_origin(field.annotation) is tuple else key
            yield from _leaves(inner, (*path, step))


def _default(field: FieldInfo, flag: Flag | None) -> str:
    if flag is not None and flag.path[0] != "accounts":
        return f"`{flag.default}`"
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, float) and "DURATION" in field.metadata:
        return f"`{format_duration(value)}`"
    if value is None or isinstance(value, bool):
        return f"`{str(value).lower().replace('none', 'null')}`"
    return f"`{json.dumps(value) if value in ('', ()) else value}`"


def _given_by(
    path: tuple[str, ...], flag_by_path: Mapping[KeyPath, Flag], variable_by_key: Mapping[tuple[str, ...], str]
) -> str:
    """Return the flag and the variable that set a key; empty if only the file does."""
    flag = flag_by_path.get(path) or flag_by_path.get((*FIRST_ACCOUNT, *path[1:]))
    if flag is not None:
        return f"`{flag.name}`<br>`{flag.variable}`"
    return f"`{variable_by_key[path]}`" if path in variable_by_key else ""


def _escaped_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def commands() -> str:
    """Return the reference of the commands: the help text of each; only `run` lists every flag of the settings."""
    lines = [
        "# Commands",
        "",
        "Generated from the code: what each command prints for `--help`. `check`, `call`,",
        "`backfill` and `config show` also take every flag of `run`.",
        "",
        "To complete commands, options, operations and parameters in bash (4.4 or newer), zsh or fish:",
        "",
        "```sh",
        'eval "$(_EDGE_EXPORTER_COMPLETE=bash_source edge-exporter)"       # in ~/.bashrc',
        'eval "$(_EDGE_EXPORTER_COMPLETE=zsh_source edge-exporter)"        # in ~/.zshrc, after compinit',
        "_EDGE_EXPORTER_COMPLETE=fish_source edge-exporter | source        # in ~/.config/fish/config.fish",
        "```",
        "",
        "The text below is also a manual page: `man edge-exporter` after an installation with pipx or in `~/.local`,",
        "and `man -M VENV/share/man edge-exporter` after one in a virtual environment.",
    ]
    for path, command in _every_command(command_line, ("edge-exporter",)):
        context = click.Context(command, info_name=" ".join(path), **command_line.context_settings)
        text = command.get_help(context)
        lines += ["", f"## {' '.join(path[1:]) or 'edge-exporter'}", "", "```text", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _every_command(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    # The help of `call` lists the operations.
    if isinstance(command, click.Group) and path[-1] != "call":
        context = click.Context(command, **command_line.context_settings)
        for name in command.list_commands(context):
            inner = command.resolve_command(context, [name])[1]
            if inner is not None:
                yield from _every_command(inner, (*path, name))


def with_section(path: Path, section: str) -> str:
    """Replace the generated section in the text of a file.

    Raises:
        ValueError: the file has no generated section.
    """
    text, replaced = _SECTION.subn(
        lambda found: found[1] + section + found[3], path.read_text(encoding="utf-8"), count=1
    )
    if not replaced:
        raise ValueError(f"{path}: there is no section between '# generated: begin' and '# generated: end'")
    return text


def documents() -> Mapping[Path, str]:
    """Return the files that this module writes, and their texts."""
    example = REPOSITORY / "deploy" / "edge-exporter.yml"
    return {
        REPOSITORY / "docs" / "metrics.md": as_markdown(),
        REPOSITORY / "docs" / "interface.md": interface(),
        REPOSITORY / "docs" / "configuration.md": configuration(),
        REPOSITORY / "docs" / "commands.md": commands(),
        REPOSITORY / "deploy" / "man" / "edge-exporter.1": man_page(_every_command(command_line, ("edge-exporter",))),
        example: with_section(example, example_collectors()),
        **generate_relabeling.documents(),
        **project_urls.documents(),
    }


def main() -> int:
    """Write the files that differ, or name them with `--check`; return the exit code."""
    # Help texts are as wide as the terminal.
    os.environ["COLUMNS"] = "100"
    differing = {
        path: text
        for path, text in documents().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    if "--check" not in sys.argv[1:]:
        for path, text in differing.items():
            path.write_text(text, encoding="utf-8")
        return 0
    for path in differing:
        print(f"{path.relative_to(REPOSITORY)} is not what is generated: run 'make generate'", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
