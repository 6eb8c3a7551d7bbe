"""Prepares a call, asks before a change, sends the request, and prints its answer or what a dry run would send."""

import asyncio
import base64
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from exporter.collectors.database import is_single, leads_with_reading
from exporter.commands.call import callable_operations
from exporter.commands.call.parameters import read
from exporter.commands.output.printing import FAULT, MISUSE, complain, complaining, echo
from exporter.foreign.terminal import escape
from exporter.platform import errors
from exporter.platform.api import sql_over_http
from exporter.platform.api.sql_over_http import Rows
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Observer
from exporter.platform.http.mask import mask_secrets, without_secrets
from exporter.platform.operation import Operation, Request, address_of
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.validation.configuration_errors import ConfigurationError
from exporter.validation.secrets import SecretFileError
from exporter.wiring.clients import client_of

Callee = AccountSettings | DatabaseSettings

# Fields of the interface that hold secrets (interface document, EdgeScript).
_SECRET_FIELDS = frozenset({"DeploymentKey", "DefaultValue", "Secret"})
_NOT_AUTHORISED = 4
_NOT_FOUND = 5
_EXIT_CODES = (
    (errors.TransportError, 3),
    ((errors.Unauthorized, errors.Forbidden, errors.CredentialError), _NOT_AUTHORISED),
    (errors.NotFound, _NOT_FOUND),
    (errors.RateLimited, 6),
)
_NOT_FOUND_STATUS = 404
# The time limit of a call, as a number of attempts; a longer wait that the platform asks for is not made.
_MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Task:
    """A call that can be carried out, its secrets, which no output may show, and the statements of `sql`.

    An operation that may change something is marked as a write, so that its request is not retried.
    """

    name: str
    request: Request[Any]
    secrets: tuple[str, ...] = ()
    statements: Sequence[str] = ()


def call(
    operation: Operation[Any],
    statements: Sequence[str],
    config: Path | None,
    *,
    account: str | None,
    database: str | None,
    yes: bool,
    flags: Mapping[str, str],
    **values: Any,  # noqa: ANN401 - the values of the operation's parameters
) -> None:
    """Carry out one operation, as the options of `call` say, and print what it answers."""
    task = _sql(operation, statements) if operation is callable_operations.SQL else _task(operation, statements, values)
    with complaining(ConfigurationError, code=MISUSE):
        settings = load(config, flags, os.environ)
    callee = _callee(settings, task, account, database)
    if task.request.operation.writes and not yes:
        _ask(task, callee)
    _carry_out(task, callee)


def _task(operation: Operation[Any], words: Sequence[str], values: Mapping[str, Any]) -> Task:
    if words:
        # A word may be the secret itself, so it is not shown.
        raise click.UsageError("Found an argument that is no option; a parameter is given as --NAME=VALUE.")
    places: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    given = [parameter for parameter in operation.parameters if values[parameter.name] is not None]
    for parameter in given:
        value = values[parameter.name]
        if parameter.allowed is not None:
            value = next(number for number, name in parameter.allowed.items() if name == value)
        places[parameter.place][parameter.name] = value
    body = places["body"] if operation.method != "GET" else None
    secrets = tuple(values[parameter.name] for parameter in given if parameter.secret)
    return Task(operation.name, Request(operation, places["path"], places["query"], body), secrets)


def _sql(operation: Operation[Any], words: Sequence[str]) -> Task:
    texts = [read(word) for word in words]
    if not texts or not all(text.strip() for text in texts):
        raise click.UsageError("A statement is missing or empty; expected SQL, - (standard input) or @FILE.")
    request = sql_over_http.execution(texts, writes=not all(map(_reads, texts)))
    return Task(operation.name, request, statements=texts)


def _reads(sql: str) -> bool:
    """Return whether a statement is known to change nothing."""
    return is_single(sql) and leads_with_reading(sql)


def _plain(outcome: Rows | errors.StatementError) -> Mapping[str, Any]:
    """Return the result of a statement as JSON; bytes are in base64."""
    if isinstance(outcome, errors.StatementError):
        return {"error": {"message": str(outcome), "code": outcome.error_key}}
    rows = [
        [{"base64": base64.b64encode(cell).decode()} if isinstance(cell, bytes) else cell for cell in row]
        for row in outcome.rows
    ]
    return {"columns": list(outcome.columns), "rows": rows}


def _callee(settings: Settings, task: Task, account: str | None, database: str | None) -> Callee:
    """Return the account or the database that is called; the command ends if it is not clear which."""
    is_sql = task.request.operation.name == sql_over_http.PIPELINE.name
    what, name, other = ("database", database, account) if is_sql else ("account", account, database)
    if other is not None:
        complain("--database is for sql and database_pipeline, --account for all other operations", MISUSE)
    known: Sequence[Callee] = settings.databases if is_sql else settings.accounts
    found = [one for one in known if name in (None, one.name)]
    if len(found) != 1:
        names = ", ".join(one.name for one in known)
        choice = f"{names}; --{what} selects one {what} of it" if names else f"no {what}"
        complain(f"the configuration has {choice}", MISUSE)
    return found[0]


def _carry_out(task: Task, callee: Callee) -> None:
    try:
        secrets = (callee.credential().get_secret_value(), *task.secrets)
        with complaining(ConfigurationError, code=MISUSE):
            value, faults = asyncio.run(_send(task, callee))
    except SecretFileError as error:
        complain(f"the key cannot be read: {error}", _NOT_AUTHORISED)
    except PlatformError as error:
        complain(str(error), exit_code(error))
    click.echo(_as_text(value, secrets))
    if faults:
        complain("\n".join(faults), FAULT)


async def _send(task: Task, callee: Callee) -> tuple[Any, list[str]]:
    """Make the call; return JSON, and the statements that failed in an otherwise good answer."""
    # A single call has the whole budget.
    async with aclosing(client_of(callee, Observer(), 1)) as client:
        caller = client.until(time.monotonic() + _MOST_ATTEMPTS * callee.timeout)
        if not task.statements:
            answer = await caller.call(task.request)
            if answer.value is None:
                raise errors.NotFound("the platform answered 404: it has none, or there is no such id", status=404)
            return json.loads(answer.raw.decode("utf-8", "replace")), []
        writes = task.request.operation.writes
        outcomes = (await sql_over_http.execute(caller, task.statements, writes=writes)).value
    failed = [
        f"statement {number}: {outcome}" + (f" ({outcome.error_key})" if outcome.error_key else "")
        for number, outcome in enumerate(outcomes, start=1)
        if isinstance(outcome, errors.StatementError)
    ]
    return [_plain(outcome) for outcome in outcomes], failed


def exit_code(error: PlatformError) -> int:
    """Return the exit code of an error."""
    code = next((code for kinds, code in _EXIT_CODES if isinstance(error, kinds)), FAULT)
    is_absent = error.status == _NOT_FOUND_STATUS or error.error_key.startswith("not_found")
    return _NOT_FOUND if code == FAULT and is_absent else code


def _ask(task: Task, callee: Callee) -> None:
    """Print what would change, and continue only after a confirmation."""
    request, operation = task.request, task.request.operation
    address = address_of(callee.url if isinstance(callee, DatabaseSettings) else callee.base_url, request)
    what = f"{task.name} on {callee.name} changes something on the platform: {operation.help}"
    what += f"\n  {operation.method} {address}\n  {_as_text(deepcopy(request.body))}"
    if not sys.stdin.isatty():
        complain(f"{what}\nNo terminal to ask on: --yes sends it. Nothing was sent.", MISUSE)
    echo(what, err=True)
    try:
        is_wanted = click.confirm("Send it?", err=True)
    except click.Abort:
        is_wanted = False
    if not is_wanted:
        complain("Nothing was sent.", MISUSE)


def _as_text(value: Any, secrets: Sequence[str] = ()) -> str:  # noqa: ANN401 - any JSON
    """Return JSON as text without secrets, in which no character controls a terminal; for a program on one line."""
    layout: dict[str, Any] = {"indent": 2} if sys.stdout.isatty() else {"separators": (",", ":")}
    shown = [value]
    mask_secrets(shown, _SECRET_FIELDS.__contains__, lambda text: without_secrets(text, secrets))
    return escape(json.dumps(shown[0], ensure_ascii=False, **layout), keep="\n")
