"""Checks the operation and the arguments of a call, and prepares its request."""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from exporter.collectors.database import is_single, leads_with_reading
from exporter.commands.call import operations
from exporter.commands.call.arguments import Sources, WrongValueError, parse, stands_for_something
from exporter.commands.output.printing import MisuseError
from exporter.platform.api import database
from exporter.platform.api.database import Cell, Rows
from exporter.platform.errors import NotFound, StatementError
from exporter.platform.operation import Caller, Request

# The meaning of a 404 that is not an error of the request.
_ABSENT = {
    "dns_record_scan": "the zone was never scanned, or does not exist",
    "shield_zone_rate_limits": "there is no such zone, or the platform has no such listing",
}
# Requests of a pipeline that never change anything.
_HARMLESS = frozenset({"close", "describe", "close_sql", "get_autocommit"})


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call.

    Attributes:
        value: what goes to standard output, as JSON.
        faults: statements that failed in an answer that was otherwise good.
    """

    value: Any
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A call that can be carried out.

    Attributes:
        name: the operation's name.
        does: a sentence about the operation.
        request: what is sent; an operation that may change something is marked as a write, so that it is not retried.
        secrets: values that no output may show.
        carry_out: makes the call; raises PlatformError.
    """

    name: str
    does: str
    request: Request[Any]
    secrets: tuple[str, ...]
    carry_out: Callable[[Caller], Awaitable[Result]]


def prepare(name: str, words: Sequence[str], sources: Sources) -> Task:
    """Check the operation and its arguments.

    Raises:
        MisuseError: there is no such operation, or its arguments are wrong.
    """
    operation = operations.find(name)
    if operation is operations.SQL:
        return _of_statements(words, sources)
    request, secrets = parse(operation, words, sources)
    if operation is database.PIPELINE and not all(map(_request_reads, (request.body or {})["requests"])):
        request = replace(request, operation=replace(operation, writes=True))

    async def carry_out(caller: Caller) -> Result:
        answer = await caller.call(request)
        if answer.value is None:
            raise NotFound(f"the platform answered 404: {_ABSENT[name]}", status=404)
        return Result(json.loads(answer.raw.decode("utf-8", "replace")))

    return Task(name, operation.help, request, secrets, carry_out)


def _of_statements(words: Sequence[str], sources: Sources) -> Task:
    faults: list[str] = []
    texts: list[str] = []
    for number, word in enumerate(words, start=1):
        try:
            texts.append(sources.read(word) if stands_for_something(word) else word)
        except WrongValueError as error:
            faults.append(f"statement {number}: {error}")
            continue
        if not texts[-1].strip():
            faults.append(f"statement {number}: is empty")
    if not words:
        faults.append("statement: missing; expected SQL, - (standard input) or @FILE")
    if faults:
        raise MisuseError("\n".join(faults))
    writes = not all(map(_reads, texts))

    async def carry_out(caller: Caller) -> Result:
        answer = await database.execute(caller, texts, writes=writes)
        failed = tuple(
            f"statement {number}: {outcome}" + (f" ({outcome.error_key})" if outcome.error_key else "")
            for number, outcome in enumerate(answer.value, start=1)
            if isinstance(outcome, StatementError)
        )
        return Result([_as_json(outcome) for outcome in answer.value], failed)

    return Task("sql", operations.SQL.help, database.execution(texts, writes=writes), (), carry_out)


def _reads(sql: str) -> bool:
    """Return whether a statement is known to change nothing."""
    return is_single(sql) and leads_with_reading(sql)


def _request_reads(request: object) -> bool:
    """Return whether a request of a pipeline is known to change nothing."""
    match request:
        case {"type": "execute", "stmt": {"sql": str(sql)}}:
            return _reads(sql)
        case {"type": str(kind)}:
            return kind in _HARMLESS
        case _:
            return False


def _as_json(outcome: Rows | StatementError) -> Mapping[str, Any]:
    if isinstance(outcome, StatementError):
        return {"error": {"message": str(outcome), "code": outcome.error_key}}
    return {"columns": list(outcome.columns), "rows": [[_plain(cell) for cell in row] for row in outcome.rows]}


def _plain(cell: Cell) -> Any:  # noqa: ANN401 - a value of JSON
    return {"base64": base64.b64encode(cell).decode()} if isinstance(cell, bytes) else cell
