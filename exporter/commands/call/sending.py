"""Prepares a call, asks before a change, sends the request, and prints its answer or what a dry run would send."""

import base64
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from exporter.collectors.database import is_single, leads_with_reading
from exporter.commands.call import operations
from exporter.commands.call.arguments import Sources, WrongValueError, parse, stands_for_something
from exporter.commands.loading import loading
from exporter.commands.output.printing import FAULT, MISUSE, complain, complaining, echo
from exporter.foreign.terminal import escape
from exporter.platform import errors
from exporter.platform.api import database as database_api
from exporter.platform.api.database import Rows
from exporter.platform.errors import PlatformError
from exporter.platform.http.mask import MASK, mask_secrets, without_secrets
from exporter.platform.operation import Request, address_of, headers_of
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.validation.faults import ConfigurationError
from exporter.validation.secrets import SecretFileError

T = TypeVar("T", AccountSettings, DatabaseSettings)
Callee = AccountSettings | DatabaseSettings

# Fields of the interface that hold secrets (interface document, EdgeScript).
_SECRET_FIELDS = frozenset({"DeploymentKey", "DefaultValue", "Secret"})
# The meaning of a 404 that is not an error of the request.
_ABSENT = {
    "dns_record_scan": "the zone was never scanned, or does not exist",
    "shield_zone_rate_limits": "there is no such zone, or the platform has no such listing",
}
# Requests of a pipeline that never change anything.
_HARMLESS = frozenset({"close", "describe", "close_sql", "get_autocommit"})
_NOT_FOUND = 5
_EXIT_CODES = (
    (errors.TransportError, 3),
    ((errors.Unauthorized, errors.Forbidden, errors.CredentialError), 4),
    (errors.NotFound, 5),
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
    does: str
    request: Request[Any]
    secrets: tuple[str, ...] = ()
    statements: Sequence[str] = ()


def call(
    operation: str,
    arguments: tuple[str, ...],
    config: Path | None,
    *,
    account: str | None,
    database: str | None,
    yes: bool,
    dry_run: bool,
    compact: bool,
    flags: Mapping[str, str],
) -> None:
    """Carry out one operation, as the options of `call` say, and print what it answers."""
    try:
        task = prepare(operation, arguments, Sources())
        settings = load(config, flags, os.environ)
    except ConfigurationError as error:
        complain(str(error), MISUSE)
    except click.Abort:
        complain("nothing was sent", MISUSE)
    callee = _callee(settings, task, account, database)
    is_compact = compact or not sys.stdout.isatty()
    if dry_run:
        click.echo(_as_text(_shown_request(task, callee), compact=is_compact))
        return
    if task.request.operation.writes and not yes:
        _ask(task, callee)
    _carry_out(task, callee, compact=is_compact)


def prepare(name: str, words: Sequence[str], sources: Sources) -> Task:
    """Check the operation and its arguments; the command ends if one of them is wrong."""
    operation = operations.find(name)
    if operation is operations.SQL:
        texts = _statements(words, sources)
        request = database_api.execution(texts, writes=not all(map(_reads, texts)))
        return Task(name, operation.help, request, statements=texts)
    request, secrets = parse(operation, words, sources)
    if operation is database_api.PIPELINE and not all(map(_request_reads, (request.body or {})["requests"])):
        request = replace(request, operation=replace(operation, writes=True))
    return Task(name, operation.help, request, secrets)


def _statements(words: Sequence[str], sources: Sources) -> list[str]:
    faults = [] if words else ["statement: missing; expected SQL, - (standard input) or @FILE"]
    texts: list[str] = []
    for number, word in enumerate(words, start=1):
        try:
            texts.append(sources.read(word) if stands_for_something(word) else word)
        except WrongValueError as error:
            faults.append(f"statement {number}: {error}")
        else:
            faults += [] if texts[-1].strip() else [f"statement {number}: is empty"]
    if faults:
        complain("\n".join(faults), MISUSE)
    return texts


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
    if task.request.operation.name == database_api.PIPELINE.name:
        if account is not None:
            complain("--account is for the management API; --database names a database", MISUSE)
        variables = "PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN"
        return _one(settings.databases, database, "database", variables)
    if database is not None:
        complain("--database is for sql and database_pipeline; --account names an account", MISUSE)
    return _one(settings.accounts, account, "account", "EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY")


def _one(known: Sequence[T], name: str | None, what: str, variables: str) -> T:
    names = ", ".join(one.name for one in known)
    found = [one for one in known if name in (None, one.name)]
    if name is not None and not found:
        complain(f"there is no {what} {name!r}; the configuration has {names or 'none'}", MISUSE)
    if not known:
        complain(f"the configuration has no {what}; {variables} suffice", MISUSE)
    if len(found) > 1:
        complain(f"there are {len(known)} {what}s: {names}; --{what} selects one of them", MISUSE)
    return found[0]


def _carry_out(task: Task, callee: Callee, *, compact: bool) -> None:
    try:
        try:
            secrets = (callee.credential().get_secret_value(), *task.secrets)
        except SecretFileError as error:
            raise errors.CredentialError(f"the key cannot be read: {error}") from None
        with loading():
            # A dry run does not load the modules that contact the platform.
            from exporter.commands.output import interruptible  # noqa: PLC0415
        with complaining(ConfigurationError, code=MISUSE):
            value, faults = interruptible.run(_send(task, callee))
    except PlatformError as error:
        complain(description(error), exit_code(error))
    click.echo(_as_text(value, secrets, compact=compact))
    if faults:
        complain("\n".join(faults), FAULT)


async def _send(task: Task, callee: Callee) -> tuple[Any, list[str]]:
    """Make the call; return JSON, and the statements that failed in an otherwise good answer."""
    with loading():
        from exporter.platform.http.client import Observer  # noqa: PLC0415
        from exporter.wiring.clients import client_of  # noqa: PLC0415 - see above
    # A single call has the whole budget.
    async with aclosing(client_of(callee, Observer(), 1)) as client:
        caller = client.until(time.monotonic() + _MOST_ATTEMPTS * callee.timeout)
        if not task.statements:
            answer = await caller.call(task.request)
            if answer.value is None:
                raise errors.NotFound(f"the platform answered 404: {_ABSENT[task.name]}", status=404)
            return json.loads(answer.raw.decode("utf-8", "replace")), []
        writes = task.request.operation.writes
        outcomes = (await database_api.execute(caller, task.statements, writes=writes)).value
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


def description(error: PlatformError) -> str:
    """Return the text of an error: the platform's message, its error key and the wrong fields."""
    message = str(error)
    lines = [message]
    if error.error_key and error.error_key not in message:
        lines.append(f"  error key: {error.error_key}")
    lines.extend(f"  {name}: {said}" for name, said in error.fields if f"{name}: {said}" not in message)
    return "\n".join(lines)


def _shown_request(task: Task, callee: Callee) -> Mapping[str, Any]:
    """Return the request that would be sent, with a copy of its body, which will be masked."""
    key = {"Authorization": f"Bearer {MASK}"}
    if isinstance(callee, DatabaseSettings):
        url = callee.url
    else:
        url = callee.base_url
        key = {"AccessKey": MASK} if callee.auth == "access_key" else key
    return {
        "method": task.request.operation.method,
        "url": address_of(url, task.request),
        "headers": headers_of(task.request.operation.method) | key,
        "body": deepcopy(task.request.body),
    }


def _ask(task: Task, callee: Callee) -> None:
    """Print what would change, and continue only after a confirmation."""
    request = _shown_request(task, callee)
    what = f"{task.name} on {callee.name} changes something on the platform: {task.does}"
    what += f"\n  {request['method']} {request['url']}\n  {_as_text(request['body'], compact=True)}"
    if not sys.stdin.isatty():
        complain(f"{what}\nNo terminal to ask on: --yes sends it. Nothing was sent.", MISUSE)
    echo(what, err=True)
    try:
        is_wanted = click.confirm("Send it?", err=True)
    except click.Abort:
        is_wanted = False
    if not is_wanted:
        complain("Nothing was sent.", MISUSE)


def _as_text(value: Any, secrets: Sequence[str] = (), *, compact: bool) -> str:  # noqa: ANN401 - any JSON
    """Return JSON as text without secrets, in which no character controls a terminal."""
    layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
    shown = [value]
    mask_secrets(shown, _SECRET_FIELDS.__contains__, lambda text: without_secrets(text, secrets))
    return escape(json.dumps(shown[0], ensure_ascii=False, **layout), keep="\n")
