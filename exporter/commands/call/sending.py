"""Sends the request of a call, and prints the answer; without `--yes`, a request that writes is only printed."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from exporter.collectors.read_only_sql import looks_read_only
from exporter.commands.output.printing import FAULT, MISUSE, complain, complaining
from exporter.mask import mask_secrets, without_secrets
from exporter.platform import errors
from exporter.platform.api import sql_over_http
from exporter.platform.api.sql_over_http import Cell, Rows
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Observer
from exporter.platform.http.responses import parse_json
from exporter.platform.operation import Operation, Request, address_of
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.untrusted.terminal import escape
from exporter.validation.configuration_errors import ConfigurationError
from exporter.wiring.clients import access_of, client_of

Callee = AccountSettings | DatabaseSettings

# The fields of answers that contain secrets (interface document, EdgeScript).
_SECRET_FIELDS = frozenset({"DeploymentKey", "DefaultValue", "Secret"})
_NOT_FOUND = 5
# Classes of errors → exit code; the help of `call` lists the exit codes.
_EXIT_CODES = (
    (errors.TransportError, 3),
    ((errors.Unauthorized, errors.Forbidden, errors.CredentialError), 4),
    (errors.NotFound, _NOT_FOUND),
    (errors.RateLimited, 6),
)
_NOT_FOUND_STATUS = 404
# The time limit of a call, as a multiple of the time limit of one attempt.
_TIME_LIMIT_IN_ATTEMPTS = 3


def call(
    operation: Operation[Any],
    values: Mapping[str, Any],
    statements: Sequence[str],
    config: Path | None,
    flags: Mapping[str, str],
    *,
    callee: str | None,
    yes: bool,
) -> None:
    """Carry out one operation, and print the answer; after a failure, end the command with an exit code.

    Args:
        operation: the operation.
        values: name of a parameter → the value; None for a parameter that is not given.
        statements: the SQL statements of the operation `sql`; empty for other operations.
        config: the configuration file; None for the file that EDGE_EXPORTER_CONFIG names, if that variable is set.
        flags: the flags of the settings, name → text.
        callee: the name of the account or database to call; None if the configuration has only one.
        yes: whether a request that may write is sent; if False, such a request is printed, and the command ends.
    """
    if statements:
        request = sql_over_http.execute_request(statements, writes=not all(map(looks_read_only, statements)))
    else:
        request = _request(operation, values)
    # A URL cannot contain a text from the command line that is not UTF-8.
    with complaining(ConfigurationError, UnicodeEncodeError, code=MISUSE):
        called = _callee(load(config, flags, os.environ), request, callee)
        address = address_of(called.url if isinstance(called, DatabaseSettings) else called.base_url, request)
        if request.operation.writes and not yes:
            complain(_unsent_message(operation, called.name, address, request.body), MISUSE)
        try:
            value, faults, key = asyncio.run(_send(called, request, statements))
        except PlatformError as error:
            complain(str(error), exit_code(error))
    secrets = [str(values[one.name]) for one in operation.parameters if one.secret]
    click.echo(_as_text(value, (*secrets, key)))
    if faults:
        complain("\n".join(faults), FAULT)


def _request(operation: Operation[Any], values: Mapping[str, Any]) -> Request[Any]:
    by_place: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    for parameter in operation.parameters:
        if (value := values[parameter.name]) is not None:
            by_place[parameter.place][parameter.name] = value
    body = None if operation.method == "GET" else by_place["body"]
    return Request(operation, by_place["path"], by_place["query"], body)


def _unsent_message(operation: Operation[Any], name: str, address: str, body: object) -> str:
    change = f"{operation.name} on {name} may change something on the platform: {operation.help}"
    unsent = f"  {operation.method} {address}\n  {_as_text(body)}"
    return f"{change}\n{unsent}\nNothing was sent: --yes sends it."


def _callee(settings: Settings, request: Request[Any], name: str | None) -> Callee:
    """Return the account (SQL: the database) called `name`, or the only one if `name` is None; else end the command."""
    is_sql = request.operation.path == sql_over_http.PIPELINE.path
    kind, known = ("database", settings.databases) if is_sql else ("account", settings.accounts)
    found: list[Callee] = [one for one in known if name is None or one.name == name]
    if len(found) != 1:
        names = ", ".join(one.name for one in known)
        choice = f"has these {kind}s: {names}; --{kind} selects one" if names else f"has no {kind}"
        complain(f"the configuration {choice}", MISUSE)
    return found[0]


async def _send(callee: Callee, request: Request[Any], statements: Sequence[str]) -> tuple[Any, list[str], str]:
    """Make the call; return the answer as JSON data, a message for each failed SQL statement, and the key to mask."""
    # With the whole budget (`shards=1`): a single call does not have to leave a part to the exporters of other shards.
    async with aclosing(client_of(access_of(callee, shards=1), Observer())) as client:
        key = await client.credential.current_key()
        caller = client.calls_until(client.clocks.monotonic() + _TIME_LIMIT_IN_ATTEMPTS * callee.timeout)
        if statements:
            outcomes = (await sql_over_http.execute(caller, statements, writes=request.operation.writes)).value
            return [_plain(outcome) for outcome in outcomes], _failure_messages(outcomes), key
        answer = await caller.call(request)
    if answer.value is None:
        raise errors.NotFound("the platform answered 404: it has no data, or there is no such id", status=404)
    return parse_json(answer.raw), [], key


def _failure_messages(outcomes: Sequence[Rows | errors.StatementError]) -> list[str]:
    return [
        f"statement {number}: {outcome}" + (f" ({outcome.error_key})" if outcome.error_key else "")
        for number, outcome in enumerate(outcomes, start=1)
        if isinstance(outcome, errors.StatementError)
    ]


def _plain(outcome: Rows | errors.StatementError) -> Mapping[str, Any]:
    if isinstance(outcome, errors.StatementError):
        return {"error": {"message": str(outcome), "code": outcome.error_key}}
    return {"columns": list(outcome.columns), "rows": [list(map(_plain_cell, row)) for row in outcome.rows]}


def _plain_cell(cell: Cell) -> Any:  # noqa: ANN401 - any JSON
    return {"base64": base64.b64encode(cell).decode()} if isinstance(cell, bytes) else cell


def exit_code(error: PlatformError) -> int:
    """Return the exit code of the error's class; else 5 for status 404 or a `not_found…` error key; else `FAULT`."""
    for classes, code in _EXIT_CODES:
        if isinstance(error, classes):
            return code
    is_absent = error.status == _NOT_FOUND_STATUS or error.error_key.startswith("not_found")
    return _NOT_FOUND if is_absent else FAULT


def _as_text(value: Any, secrets: Sequence[str] = ()) -> str:  # noqa: ANN401 - any JSON
    """Return JSON as text, with secrets masked; in one line unless the output is a terminal."""
    layout: dict[str, Any] = {"indent": 2} if sys.stdout.isatty() else {"separators": (",", ":")}
    # In a list, because `mask_secrets` replaces texts in lists and objects, and the value itself may be a text.
    shown = [value]
    mask_secrets(shown, lambda field: field in _SECRET_FIELDS, lambda text: without_secrets(text, secrets))
    return escape(json.dumps(shown[0], ensure_ascii=False, **layout), keep="\n")
