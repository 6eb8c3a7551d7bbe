"""Lists, explains and completes the operations of the command line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from exporter.commands.call.arguments import expectation
from exporter.commands.output.table import lay_out, natural_width
from exporter.platform.api import database, scripting
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.operation import Operation, Parameter
from exporter.validation.faults import suggestion

SQL = "sql"
SQL_HELP = "Executes SQL statements on a database, and gives their rows."
_SQL_NOTES = (
    "A statement is SQL, - (standard input) or @FILE. All of them go in one request, and each gives its columns and "
    "rows, or its own error. A statement that may write needs a confirmation."
)
_COLUMNS = ("OPERATION", "REQUEST", "PARAMETERS", "DOES")

# The update with an empty body is not listed: it is `script_update` without a name.
_CALLABLE: Mapping[str, Operation[Any]] = {
    operation.name: operation for operation in OPERATIONS if operation is not scripting.READ_BY_UPDATE
}


class UnknownOperationError(Exception):
    """There is no operation of this name."""

    def __init__(self, name: str) -> None:
        near = suggestion(name, names()) or "; 'edge-exporter call --list' lists them"
        super().__init__(f"there is no operation {name[:60]!r}{near}")


def names() -> list[str]:
    """Return the names of all operations, including `sql`."""
    return [*_CALLABLE, SQL]


def find(name: str) -> Operation[Any]:
    """Return an operation.

    Raises:
        UnknownOperationError: there is none of this name.
    """
    if name not in _CALLABLE:
        raise UnknownOperationError(name)
    return _CALLABLE[name]


def help_of(name: str) -> str:
    """Return what an operation does, in a sentence."""
    return SQL_HELP if name == SQL else _CALLABLE[name].help


def _does(operation: Operation[Any]) -> str:
    marks = ["writes"] if operation.writes else []
    if operation is database.PIPELINE:
        marks.append("may write")
    if not operation.documented:
        marks.append("not in every deployment")
    return operation.help + (f" ({', '.join(marks)})" if marks else "")


def _written(parameter: Parameter) -> str:
    return parameter.name if parameter.required else f"[{parameter.name}]"


def listing(width: int | None) -> str:
    """Return a table of the operations for a terminal of this width; with None, for a program."""
    rows = [
        (
            operation.name,
            f"{operation.method} {operation.path}",
            " ".join(_written(parameter) for parameter in operation.parameters),
            _does(operation),
        )
        for operation in _CALLABLE.values()
    ]
    rows.append((SQL, f"{database.PIPELINE.method} {database.PIPELINE.path}", "STATEMENT…", SQL_HELP))
    if width is None or natural_width(_COLUMNS, rows) <= width:
        return lay_out(_COLUMNS, rows, None)
    narrow = [(name, f"{does}\n{request}\n{parameters}".rstrip()) for name, request, parameters, does in rows]
    return lay_out((_COLUMNS[0], "DOES, REQUEST, PARAMETERS"), narrow, width, folded=("DOES, REQUEST, PARAMETERS",))


def as_json() -> str:
    """Return the operations as JSON."""
    found: list[dict[str, object]] = [
        {
            "name": operation.name,
            "method": operation.method,
            "path": operation.path,
            "help": operation.help,
            "writes": operation.writes,
            "documented": operation.documented,
            "parameters": [_plain(parameter) for parameter in operation.parameters],
        }
        for operation in _CALLABLE.values()
    ]
    pipeline = database.PIPELINE
    found.append(
        {"name": SQL, "method": pipeline.method, "path": pipeline.path, "help": SQL_HELP, "parameters": "STATEMENT…"}
    )
    return json.dumps(found, indent=2, ensure_ascii=False)


def _plain(parameter: Parameter) -> dict[str, object]:
    plain: dict[str, object] = {
        "name": parameter.name,
        "in": parameter.place,
        "type": parameter.type,
        "required": parameter.required,
        "secret": parameter.secret,
        "help": parameter.help,
    }
    return plain | ({"values": parameter.allowed} if parameter.allowed is not None else {})


def explain(name: str, formatter: click.HelpFormatter) -> None:
    """Write the help of an operation: its summary, its request and its parameters.

    Raises:
        UnknownOperationError: there is none of this name.
    """
    is_sql = name == SQL
    operation = database.PIPELINE if is_sql else find(name)
    parameters = () if is_sql else operation.parameters
    usage = "STATEMENT..." if is_sql else " ".join(_usage(one) for one in parameters)
    formatter.write_usage(f"edge-exporter call {name}", f"[OPTIONS] {usage}".rstrip())
    formatter.write_paragraph()
    formatter.indent()
    formatter.write_text(SQL_HELP if is_sql else _does(operation))
    if is_sql:
        formatter.write_paragraph()
        formatter.write_text(_SQL_NOTES)
    else:
        formatter.write_text(f"\b\n{operation.method} {operation.path}")
    formatter.dedent()
    if parameters:
        with formatter.section("Parameters"):
            formatter.write_dl([(one.name, f"{one.help} It takes {expectation(one)}.") for one in parameters])
    formatter.write_paragraph()
    formatter.write_text("Options and exit codes: 'edge-exporter call --help'")


def _usage(parameter: Parameter) -> str:
    text = f"{parameter.name}={'-|@FILE' if parameter.secret else parameter.type.upper()}"
    return text if parameter.required else f"[{text}]"


def completions(name: str, words: Sequence[str], incomplete: str) -> Iterator[tuple[str, str]]:
    """Return the completions of an operation's next argument, each with its meaning.

    Args:
        name: the operation's.
        words: the arguments before. A shell that breaks words at `=` gives `name`, `=` and the value one by one, and
            no `=` where nothing is typed behind it.
        incomplete: what is typed of this one.
    """
    parameters = {one.name: one for one in _CALLABLE[name].parameters} if name in _CALLABLE else {}
    broken = [word for word in words if word != "="]
    is_value = bool(words) and (words[-1] == "=" or not incomplete)
    if broken and is_value and broken[-1] in parameters:
        yield from ((value, "") for value in _values(parameters[broken[-1]]) if value.startswith(incomplete))
        return
    known, equals, typed = incomplete.partition("=")
    if equals and known in parameters:
        found = (value for value in _values(parameters[known]) if value.startswith(typed))
        yield from ((f"{known}={value}", "") for value in found)
        return
    used = {word.partition("=")[0] for word in words}
    for parameter in parameters.values():
        if parameter.name not in used and parameter.name.startswith(incomplete):
            yield f"{parameter.name}=", parameter.help


def _values(parameter: Parameter) -> list[str]:
    if parameter.secret:
        return ["-"]
    if parameter.allowed is not None:
        return [*parameter.allowed.values(), *map(str, parameter.allowed)]
    return ["true", "false"] if parameter.type == "boolean" else []
