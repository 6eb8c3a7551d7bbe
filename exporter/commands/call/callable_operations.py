"""The operations of the command line, and their list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from exporter.commands.output.printing import MISUSE, complain
from exporter.commands.output.table import lay_out
from exporter.platform.api import scripting, sql_over_http
from exporter.platform.api.operations import OPERATIONS
from exporter.platform.operation import Operation
from exporter.validation.configuration_errors import suggestion

# Several statements in one pipeline request, in place of its own parameter.
SQL = replace(
    sql_over_http.PIPELINE,
    name="sql",
    help="Executes SQL statements on a database, and gives their rows.",
    parameters=(),
)

# The operations that can be called, by name. The update with an empty body is not one: it is `script_update` without a
# name. What a request of a pipeline does is not known, so it counts as a write.
CALLABLE: Mapping[str, Operation[Any]] = {
    one.name: replace(one, writes=True) if one is sql_over_http.PIPELINE else one
    for one in (*OPERATIONS, SQL)
    if one is not scripting.READ_BY_UPDATE
}


def find(name: str) -> Operation[Any]:
    """Return an operation; the command ends if there is none of this name."""
    if name not in CALLABLE:
        near = suggestion(name, list(CALLABLE)) or "; 'edge-exporter call --list' lists them"
        complain(f"there is no operation {name[:60]!r}{near}", MISUSE)
    return CALLABLE[name]


def listing(width: int | None) -> str:
    """Return a table of the operations for a terminal of this width; with None, for a program."""
    rows = [(one.name, f"{one.method} {one.path}", describe(one)) for one in CALLABLE.values()]
    return lay_out(("OPERATION", "REQUEST", "DOES"), rows, width, folded=("REQUEST", "DOES"))


def describe(operation: Operation[Any]) -> str:
    """Return what an operation does."""
    marks = " (writes)" if operation.writes else ""
    marks += "" if operation.documented else " (not in every deployment)"
    return operation.help + marks
