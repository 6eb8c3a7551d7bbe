"""Every operation of the interface document is in the client, the sandbox and `call`, and reads are in a collector."""

import re

from exporter.collectors.catalogue import CATALOGUE
from exporter.commands.call.operations import CALLABLE
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.operation import Operation
from exporter.sandbox.operations import OPERATIONS as SERVED
from tests.interface import DOCUMENTED

WRITES = {"script_add_secret", "shield_bot_category_action", "shield_access_list_switch"}


def shape(path: str) -> str:
    """Return a path without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def named(method: str, path: str) -> list[Operation[object]]:
    """Return the client's operations for a row."""
    return [operation for operation in OPERATIONS if (operation.method, shape(operation.path)) == (method, shape(path))]


def collectors(method: str, path: str) -> list[str]:
    """Return the collectors that call a row's operation."""
    return [
        collector.name
        for collector in CATALOGUE
        if any((asked.method, shape(asked.path)) == (method, shape(path)) for asked in collector.operations)
    ]


def test_the_client_knows_every_documented_operation() -> None:
    assert [row for row in DOCUMENTED if not named(*row)] == []


def test_the_sandbox_serves_every_documented_operation_and_calls_no_other_one_so() -> None:
    served = {(operation.method, shape(operation.path)) for operation in SERVED if operation.documented}
    assert served | {("POST", "/v2/pipeline")} == {(row[0], shape(row[1])) for row in DOCUMENTED}


def test_every_operation_that_reads_is_asked_for_by_a_collector() -> None:
    unasked = {operation.name for row in DOCUMENTED if not collectors(*row) for operation in named(*row)}
    assert unasked == WRITES


def test_every_documented_operation_can_be_called() -> None:
    assert [row for row in DOCUMENTED if not any(operation.name in CALLABLE for operation in named(*row))] == []
