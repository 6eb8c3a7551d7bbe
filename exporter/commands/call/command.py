"""`call`: any one documented operation, JSON out."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from exporter.commands.call import operations
from exporter.commands.call.arguments import ArgumentsError
from exporter.commands.call.client import (
    ChoiceError,
    Direct,
    Line,
    Rehearsal,
    RehearsedError,
    choose,
    description,
    exit_code,
)
from exporter.commands.call.inputs import Sources
from exporter.commands.call.masking import as_text, masked
from exporter.commands.call.request import Result, Task, prepare
from exporter.commands.options import account_flags, flag_values, settings_options
from exporter.commands.output import interruptible
from exporter.commands.output.complaint import FAULT, MISUSE, complain
from exporter.commands.output.printing import echo
from exporter.commands.output.table import terminal_width
from exporter.platform.errors import PlatformError
from exporter.settings.loading import SettingsError, load

FLAGS = account_flags()


def _complete_operation(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    found = (name for name in operations.names() if name.startswith(incomplete))
    return [CompletionItem(name, help=operations.help_of(name)) for name in found]


def _complete_argument(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    name, words = context.params.get("operation") or "", context.params.get("arguments") or ()
    found = operations.completions(name, words, incomplete)
    return [CompletionItem(text, help=meaning or None) for text, meaning in found]


@click.command("call", add_help_option=False)
@click.argument("operation", required=False, shell_complete=_complete_operation)
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...", shell_complete=_complete_argument)
@click.option("--list", "lists", is_flag=True, help="List the operations, and end.")
@click.option("--account", metavar="NAME", help="The account that is asked; needed where there are several.")
@click.option("--database", metavar="NAME", help="The database that sql and database_pipeline ask.")
@click.option("-y", "--yes", is_flag=True, help="Send what changes something without asking.")
@click.option("--dry-run", is_flag=True, help="Print the request, its secrets masked, and send nothing.")
@click.option("--compact", is_flag=True, help="Print JSON on one line on a terminal, too.")
@settings_options(FLAGS)
@click.option("-h", "--help", "helps", is_flag=True, help="Show this, or, beside an OPERATION, what it takes.")
@click.pass_context
def command(
    context: click.Context,
    /,
    operation: str | None,
    arguments: tuple[str, ...],
    config: Path | None,
    *,
    lists: bool,
    account: str | None,
    database: str | None,
    yes: bool,
    dry_run: bool,
    compact: bool,
    helps: bool,
    **given: Any,  # noqa: ANN401 - the flags' texts
) -> None:
    """Carry out one documented operation, and print what it answers as JSON.

    The parameters are those of the interface, as NAME=VALUE. A secret's value is taken from standard input
    (Secret=-) or a file (Secret=@FILE), without the line break at its end, and never from an argument. What changes
    something asks first; where there is nobody to ask it needs --yes.

    \b
      edge-exporter call dns_statistics id=101 dateFrom=2026-02-01 dateTo=2026-02-08
      edge-exporter call script_add_secret id=7 Name=TOKEN Secret=@token.txt
      edge-exporter call sql 'SELECT count(*) FROM orders' --database orders

    The configuration is that of `run`: flags, EDGE_EXPORTER_ variables, a file. Keys stand in variables or files.
    A database is one of the file, or the one that PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN tell of.

    \b
    Exit codes
      0  the platform did it
      1  the platform refused or failed, or a statement did
      2  misuse: wrong arguments, a wrong configuration, not confirmed; nothing was sent
      3  the platform was not reached, or gave no answer in time
      4  not authorised: the key is not accepted, may not do this, or cannot be read
      5  there is no such thing
      6  the platform asked to be left alone (429)
    """  # noqa: D301 - click reads the \b
    if helps:
        click.echo(operations.explanation(operation) if operation in operations.names() else context.get_help())
        return
    if lists:
        click.echo(operations.listing(terminal_width()))
        return
    if operation is None:
        raise click.UsageError("Missing argument 'OPERATION'; 'edge-exporter call --list' lists them.")
    try:
        task = prepare(operation, arguments, Sources())
        settings = load(config, flag_values(given, FLAGS), os.environ)
        line = choose(settings, account=account, database=database, is_sql=task.is_sql)
    except (operations.UnknownOperationError, ArgumentsError, SettingsError, ChoiceError) as error:
        complain(str(error), MISUSE)
    except click.Abort:
        complain("nothing was sent", MISUSE)
    is_compact = compact or not sys.stdout.isatty()
    if dry_run:
        click.echo(as_text(interruptible.run(_rehearse(task, line)), compact=is_compact))
        return
    if task.writes and not yes:
        _ask(task, line)
    _carry_out(task, line, compact=is_compact)


def _carry_out(task: Task, line: Line, *, compact: bool) -> None:
    try:
        secrets = (line.credential(), *task.secrets)
        result = interruptible.run(_send(task, line))
    except PlatformError as error:
        for secret in task.secrets:
            error.redact(secret)
        complain(description(error), exit_code(error))
    click.echo(as_text(masked(result.value, secrets), compact=compact))
    if result.faults:
        complain("\n".join(result.faults), FAULT)


async def _send(task: Task, line: Line) -> Result:
    client = line.client()
    try:
        return await task.carry_out(Direct(client, line.settings.timeout, writes=task.writes))
    finally:
        await client.aclose()


async def _rehearse(task: Task, line: Line) -> Mapping[str, Any]:
    """The request as it would be sent, without its secrets."""
    client = line.client()
    try:
        await task.carry_out(Rehearsal(client))
    except RehearsedError as rehearsed:
        request, body = rehearsed.request, rehearsed.body
    finally:
        await client.aclose()
    headers = dict([*((name.decode(), value.decode()) for name, value in request.headers.raw), line.header()])
    return {"method": request.method, "url": str(request.url), "headers": headers, "body": masked(body)}


def _ask(task: Task, line: Line) -> None:
    """Say what would be changed, and go on only if a person wants it."""
    request = interruptible.run(_rehearse(task, line))
    place = f"{request['method']} {request['url']}"
    what = f"{task.name} on {line.name} changes something on the platform: {task.does}\n  {place}"
    body = as_text(request["body"], compact=True)
    if not sys.stdin.isatty():
        complain(f"{what}\n  {body}\nThere is nobody to ask: --yes sends it. Nothing was sent.", MISUSE)
    echo(f"{what}\n  {body}", err=True)
    try:
        is_wanted = click.confirm("Send it?", err=True)
    except click.Abort:
        is_wanted = False
    if not is_wanted:
        complain("Nothing was sent.", MISUSE)
