"""Lists, explains and completes the operations of the command line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from exporter.commands.call.arguments import expectation
from exporter.commands.output.printing import MISUSE, complain
from exporter.commands.output.table import lay_out
from exporter.platform.api import database, scripting
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.operation import Operation, Parameter
from exporter.validation.faults import suggestion

# Several statements in one pipeline request, in place of its own parameter.
SQL = replace(
    database.PIPELINE,
    name="sql",
    help="Executes SQL statements on a database, and gives their rows.",
    parameters=(),
)
_SQL_NOTES = (
    "A statement is SQL, - (standard input) or @FILE. All of them go in one request, and each gives its columns and "
    "rows, or its own error. A statement that may write needs a confirmation."
)
_COLUMNS = ("OPERATION", "REQUEST", "PARAMETERS", "DOES")

# The operations that can be called, by name. The update with an empty body is not one: it is `script_update` without a
# name.
CALLABLE: Mapping[str, Operation[Any]] = {
    operation.name: operation for operation in (*OPERATIONS, SQL) if operation is not scripting.READ_BY_UPDATE
}


def find(name: str) -> Operation[Any]:
    """Return an operation; the command ends if there is none of this name."""
    if name not in CALLABLE:
        near = suggestion(name, list(CALLABLE)) or "; 'edge-exporter call --list' lists them"
        complain(f"there is no operation {name[:60]!r}{near}", MISUSE)
    return CALLABLE[name]


def _does(operation: Operation[Any]) -> str:
    marks = ["writes"] if operation.writes else []
    if operation is database.PIPELINE:
        marks.append("may write")
    if not operation.documented:
        marks.append("not in every deployment")
    return operation.help + (f" ({', '.join(marks)})" if marks else "")


def _parameters(operation: Operation[Any]) -> str:
    names = (one.name if one.required else f"[{one.name}]" for one in operation.parameters)
    return "STATEMENT…" if operation is SQL else " ".join(names)


def listing(width: int | None) -> str:
    """Return a table of the operations for a terminal of this width; with None, for a program."""
    rows = [(one.name, f"{one.method} {one.path}", _parameters(one), _does(one)) for one in CALLABLE.values()]

    def narrow() -> str:
        joined = [(name, f"{does}\n{request}\n{parameters}".rstrip()) for name, request, parameters, does in rows]
        return lay_out((_COLUMNS[0], "DOES, REQUEST, PARAMETERS"), joined, width, folded=("DOES, REQUEST, PARAMETERS",))

    return lay_out(_COLUMNS, rows, width, narrow=narrow)


def as_json() -> str:
    """Return the operations as JSON."""
    return json.dumps([_plain(operation) for operation in CALLABLE.values()], indent=2, ensure_ascii=False)


def _plain(operation: Operation[Any]) -> dict[str, object]:
    plain: dict[str, object] = {key: getattr(operation, key) for key in ("name", "method", "path", "help")}
    if operation is SQL:
        return plain | {"parameters": _parameters(SQL)}
    parameters = [
        {"name": one.name, "in": one.place}
        | {key: getattr(one, key) for key in ("type", "required", "secret", "help")}
        | ({"values": one.allowed} if one.allowed is not None else {})
        for one in operation.parameters
    ]
    return plain | {"writes": operation.writes, "documented": operation.documented, "parameters": parameters}


def explain(operation: Operation[Any], formatter: click.HelpFormatter) -> None:
    """Write the help of an operation: its summary, its request and its parameters."""
    usage = "STATEMENT..." if operation is SQL else " ".join(_usage(one) for one in operation.parameters)
    formatter.write_usage(f"edge-exporter call {operation.name}", f"[OPTIONS] {usage}".rstrip())
    formatter.write_paragraph()
    formatter.indent()
    formatter.write_text(_does(operation))
    if operation is SQL:
        formatter.write_paragraph()
    formatter.write_text(_SQL_NOTES if operation is SQL else f"\b\n{operation.method} {operation.path}")
    formatter.dedent()
    if operation.parameters:
        with formatter.section("Parameters"):
            formatter.write_dl([(one.name, f"{one.help} It takes {expectation(one)}.") for one in operation.parameters])
    formatter.write_paragraph()
    formatter.write_text("Options and exit codes: 'edge-exporter call --help'")


def _usage(parameter: Parameter) -> str:
    text = f"{parameter.name}={'-|@FILE' if parameter.secret else parameter.type.upper()}"
    return text if parameter.required else f"[{text}]"


def completions(name: str, words: Sequence[str], incomplete: str) -> Iterator[tuple[str, str]]:
    """Return the completions of an operation's next argument, each with its meaning.

    `words` are the arguments before. A shell that breaks words at `=` gives `name`, `=` and the value one by one, and
    no `=` where nothing is typed behind it.
    """
    parameters = {one.name: one for one in CALLABLE[name].parameters} if name in CALLABLE else {}
    broken = [word for word in words if word != "="]
    is_value = bool(words) and (words[-1] == "=" or not incomplete)
    if broken and is_value and broken[-1] in parameters:
        yield from ((value, "") for value in _values(parameters[broken[-1]]) if value.startswith(incomplete))
        return
    known, equals, typed = incomplete.partition("=")
    if equals and known in parameters:
        yield from ((f"{known}={value}", "") for value in _values(parameters[known]) if value.startswith(typed))
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
