"""Checks the operation and the arguments of a call, and prepares its request."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from exporter.commands.call import operations, sql
from exporter.commands.call.arguments import ArgumentsError, Source, SourceError, parse, stands_for_something
from exporter.platform.api import database
from exporter.platform.errors import NotFound, StatementError
from exporter.platform.operation import Caller, Request

# The meaning of a 404 that is not an error of the request.
_ABSENT = {
    "dns_record_scan": "the zone was never scanned, or does not exist",
    "shield_zone_rate_limits": "there is no such zone, or the platform has no such listing",
}


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
        writes: whether it changes something, or may do so.
        is_sql: whether it calls a database, and not the management API.
        secrets: values that no output may show.
        carry_out: makes the call; raises PlatformError.
    """

    name: str
    does: str
    writes: bool
    is_sql: bool
    secrets: tuple[str, ...]
    carry_out: Callable[[Caller], Awaitable[Result]]


def prepare(name: str, words: Sequence[str], read: Source) -> Task:
    """Check the operation and its arguments.

    Raises:
        UnknownOperationError: there is no such operation.
        ArgumentsError: its arguments are wrong.
    """
    return _of_statements(words, read) if name == operations.SQL else _of_operation(name, words, read)


def _of_operation(name: str, words: Sequence[str], read: Source) -> Task:
    operation = operations.find(name)
    arguments = parse(operation, words, read)
    is_sql = operation is database.PIPELINE
    writes = operation.writes
    if is_sql and arguments.body is not None:
        writes = not sql.pipeline_reads(arguments.body["requests"])

    async def carry_out(caller: Caller) -> Result:
        answer = await caller.find(Request(operation, path=arguments.path, query=arguments.query, body=arguments.body))
        if answer.value is None:
            raise NotFound(f"the platform answered 404: {_ABSENT[operation.name]}", status=404)
        return Result(json.loads(answer.raw.decode("utf-8", "replace")))

    return Task(name, operation.help, writes, is_sql, arguments.secrets, carry_out)


def _of_statements(words: Sequence[str], read: Source) -> Task:
    faults: list[str] = []
    texts: list[str] = []
    for number, word in enumerate(words, start=1):
        try:
            text = read(word, secret=False) if stands_for_something(word) else word
        except SourceError as error:
            faults.append(f"statement {number}: {error}")
            continue
        if not text.strip():
            faults.append(f"statement {number}: is empty")
        texts.append(text)
    if not words:
        faults.append("statement: missing; expected SQL, - (standard input) or @FILE")
    if faults:
        raise ArgumentsError(faults)

    async def carry_out(caller: Caller) -> Result:
        answer = await database.execute(caller, texts)
        failed = tuple(
            f"statement {number}: {outcome}" + (f" ({outcome.error_key})" if outcome.error_key else "")
            for number, outcome in enumerate(answer.value, start=1)
            if isinstance(outcome, StatementError)
        )
        return Result([sql.as_json(outcome) for outcome in answer.value], failed)

    writes = not all(sql.reads(text) for text in texts)
    return Task(operations.SQL, operations.SQL_HELP, writes, is_sql=True, secrets=(), carry_out=carry_out)
