"""Creates the command that carries out an operation; the operation's parameters are options of the command."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from enum import IntEnum
from pathlib import Path
from typing import Any

import click

from exporter.commands.call.sending import call
from exporter.commands.options import SettingsCommand, config_option
from exporter.platform.api import scripting, sql_over_http
from exporter.platform.api.operations import OPERATIONS
from exporter.platform.operation import Operation, Parameter

# The operation behind the command `sql`: a pipeline request for the statements that are given as arguments.
SQL = replace(
    sql_over_http.PIPELINE,
    name="sql",
    help="Executes SQL statements on a database, and prints their rows.",
    parameters=(),
)

# Name → operation that `call` can carry out. `READ_BY_UPDATE` is left out: its request is that of `script_update`
# without --Name. The SQL in a request of `database_pipeline` is not examined, so the operation counts as a write.
CALLABLE: Mapping[str, Operation[Any]] = {
    one.name: replace(one, writes=True) if one is sql_over_http.PIPELINE else one
    for one in (*OPERATIONS, SQL)
    if one is not scripting.READ_BY_UPDATE
}


class _Time(click.DateTime):
    """A parameter type: a time with a zone, or a UTC day, which stands for 00:00 of that day; converted to UTC."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        time = super().convert(value, param, ctx)
        try:
            return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except OverflowError:
            self.fail(f"{value!r} is before the year 1 or after the year 9999 in UTC.", param, ctx)


class _Secret(click.File):
    """A parameter type: a secret from a file or standard input. Errors hide the argument, which may be the secret."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401, ARG002
        try:
            # click itself would leave the file open if another parameter is refused.
            with click.open_file(value, encoding=self.encoding) as file:
                text = file.read().removesuffix("\n")
        except (OSError, ValueError):
            self.fail("is not a readable file; a secret is read from a file, or - for standard input")
        if not text:
            self.fail("is empty")
        return text


def json_array(text: str) -> list[Any]:
    """Parse a text as a JSON array; click shows the name of this function as the placeholder of the value."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise click.BadParameter("expected a JSON array")
    return found


_TYPES = {
    "integer": click.INT,
    "boolean": click.BOOL,
    "date-time": _Time(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z"]),
    "json": json_array,
    "string": click.STRING,
}


def _option(parameter: Parameter) -> click.Option:
    kind: Any = _TYPES[parameter.type]
    text = parameter.help
    if parameter.secret:
        kind = _Secret(encoding="utf-8")
        text += " The option names a file with the value; - for standard input."
    elif parameter.allowed is not None:
        make_enum: Any = IntEnum  # mypy knows only members that stand in the source
        numbers = make_enum("Numbers", {name: number for number, name in parameter.allowed.items()})
        kind = click.Choice(numbers, case_sensitive=False)
    name = parameter.name
    # Without the second `name`, click would give the command's function the name in lower case.
    return click.Option([f"--{name}", name], type=kind, required=parameter.required, help=text)


def command_of(operation: Operation[Any]) -> click.Command:
    """Return the command that carries out an operation."""
    marks = "(writes) " if operation.writes else ""
    if not operation.documented:
        marks += "(not in every deployment) "
    kind = "database" if operation.path == sql_over_http.PIPELINE.path else "account"
    parameters: list[click.Parameter] = [*map(_option, operation.parameters)]
    if operation is SQL:
        parameters.append(click.Argument(["statements"], metavar="STATEMENT...", nargs=-1, required=True))

    @click.command(
        operation.name,
        cls=SettingsCommand,
        params=parameters,
        help=f"{marks}{operation.help}\n\n\b\n{operation.method} {operation.path}",
        short_help=marks + operation.help,
    )
    @click.option(f"--{kind}", "callee", metavar="NAME", help=f"The {kind} to call; needed if there are several.")
    @click.option("-y", "--yes", is_flag=True, help="Send the request, although it may change something.")
    @config_option
    def command(
        config: Path | None,
        flags: Mapping[str, str],
        callee: str | None,
        *,
        yes: bool,
        statements: tuple[str, ...] = (),
        **values: Any,  # noqa: ANN401 - the operation's parameters
    ) -> None:
        call(operation, values, statements, config, flags, callee=callee, yes=yes)

    return command
