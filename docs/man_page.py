"""Makes the manual page from the help of the commands, with groff's man macros."""

import inspect
from collections.abc import Iterable, Iterator

import click

from exporter.commands.options import ACCOUNT, SettingOption

_HEAD = r""".\" Generated from the code.
.TH EDGE-EXPORTER 1 "" edge-exporter "User Commands"
.nh
.ad l
.SH NAME
edge-exporter \- serves an edge platform's statistics to Prometheus
.SH SYNOPSIS
.B edge-exporter
.I COMMAND
[OPTIONS] [ARGS]
.SH DESCRIPTION
Flags win over environment variables, and variables over the configuration file.
edge-exporter metrics prints every metric, and edge-exporter assets configuration DIR writes an example of the file.
.SH COMMANDS"""


def man_page(commands: Iterable[tuple[tuple[str, ...], click.Command]]) -> str:
    """Return the page of commands, each with the words that call it; groups other than `call` have no section."""
    sections = [
        _section(path, command)
        for path, command in commands
        if path[-1] == "call" or not isinstance(command, click.Group)
    ]
    return "\n".join([_HEAD, *(line for section in sections for line in section)]) + "\n"


def _section(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join(path), help_option_names=["-h", "--help"])
    yield f'.SS "{_escaped(" ".join([*path, *command.collect_usage_pieces(context)]))}"'
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        # A paragraph that begins with \b keeps its lines.
        is_kept, lines = paragraph.startswith("\b"), paragraph.removeprefix("\b\n").splitlines()
        yield from (".PP", *([".nf"] if is_kept else []), *map(_escaped, lines), *([".fi"] if is_kept else []))
    for parameter in command.get_params(context):
        if isinstance(parameter, SettingOption) and parameter.section != ACCOUNT and path[-1] != "run":
            continue  # `run` lists them
        # An argument is in the usage line.
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield from (".TP", rf"\fB{_escaped(record[0])}\fR", _escaped(record[1]))


def _escaped(text: str) -> str:
    """Escape the characters of a line that have a meaning for groff."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
