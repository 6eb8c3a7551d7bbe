"""Carries out one operation from the command line."""

import json
import os
import sys
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import click

from exporter.commands.call import operations
from exporter.commands.call.arguments import ArgumentsError
from exporter.commands.call.choice import Choice, ChoiceError, Line, choose
from exporter.commands.call.inputs import Sources
from exporter.commands.call.rehearsal import Rehearsal, RehearsedError
from exporter.commands.call.request import Task, prepare
from exporter.commands.loading import loading
from exporter.commands.options import flag_values
from exporter.commands.output.printing import FAULT, MISUSE, complain, echo
from exporter.cooperative import at_once
from exporter.platform.errors import PlatformError
from exporter.platform.http.mask import Mask, mask_secrets
from exporter.platform.http.request import address_of, headers_of
from exporter.settings.flag import ACCOUNT_FLAGS
from exporter.settings.loading import SettingsError, load
from exporter.terminal import escape

# Fields of the interface that hold secrets (interface document, EdgeScript).
_SECRET_FIELDS = frozenset({"DeploymentKey", "DefaultValue", "Secret"})


def call(
    operation: str,
    arguments: tuple[str, ...],
    config: Path | None,
    given: Mapping[str, Any],
    choice: Choice,
    *,
    yes: bool,
    dry_run: bool,
    compact: bool,
) -> None:
    """Carry out one operation, and print what it answers.

    Args:
        operation: its name.
        arguments: its parameters, `name=value` each.
        config: the configuration file.
        given: the texts of flags, by their parameters' names.
        choice: the account or the database of the call.
        yes: send what changes something without asking.
        dry_run: print the request, and send nothing.
        compact: print JSON on one line on a terminal, too.
    """
    try:
        task = prepare(operation, arguments, Sources())
        settings = load(config, flag_values(given, ACCOUNT_FLAGS), os.environ)
        line = choose(settings, choice, is_sql=task.is_sql)
    except (operations.UnknownOperationError, ArgumentsError, SettingsError, ChoiceError) as error:
        complain(str(error), MISUSE)
    except click.Abort:
        complain("nothing was sent", MISUSE)
    is_compact = compact or not sys.stdout.isatty()
    if dry_run:
        click.echo(_as_text(_rehearse(task, line), compact=is_compact))
        return
    if task.writes and not yes:
        _ask(task, line)
    _carry_out(task, line, compact=is_compact)


def _carry_out(task: Task, line: Line, *, compact: bool) -> None:
    with loading():
        # A dry run does not load the modules that contact the platform.
        from exporter.commands.call.client import description, exit_code, send  # noqa: PLC0415
        from exporter.commands.output import interruptible  # noqa: PLC0415
    try:
        secrets = (line.credential(), *task.secrets)
        result = interruptible.run(send(task, line))
    except PlatformError as error:
        for secret in task.secrets:
            error.redact(secret)
        complain(description(error), exit_code(error))
    click.echo(_as_text(result.value, Mask(secrets), compact=compact))
    if result.faults:
        complain("\n".join(result.faults), FAULT)


def _rehearse(task: Task, line: Line) -> Mapping[str, Any]:
    """Return the request that would be sent, with a copy of its body, which will be masked."""
    try:
        # A dry run waits for nothing, and needs no event loop.
        at_once(task.carry_out(Rehearsal()).__await__())
    except RehearsedError as rehearsed:
        request = rehearsed.request
    return {
        "method": request.operation.method,
        "url": address_of(line.base_url, request),
        "headers": dict([*headers_of(request).items(), line.header()]),
        "body": deepcopy(request.body),
    }


def _ask(task: Task, line: Line) -> None:
    """Print what would change, and continue only after a confirmation."""
    request = _rehearse(task, line)
    place = f"{request['method']} {request['url']}"
    what = f"{task.name} on {line.name} changes something on the platform: {task.does}\n  {place}"
    body = _as_text(request["body"], compact=True)
    if not sys.stdin.isatty():
        complain(f"{what}\n  {body}\nNo terminal to ask on: --yes sends it. Nothing was sent.", MISUSE)
    echo(f"{what}\n  {body}", err=True)
    try:
        is_wanted = click.confirm("Send it?", err=True)
    except click.Abort:
        is_wanted = False
    if not is_wanted:
        complain("Nothing was sent.", MISUSE)


def _as_text(value: Any, mask: Mask | None = None, *, compact: bool) -> str:  # noqa: ANN401 - any JSON
    """Return JSON as text without secrets, in which no character controls a terminal."""
    layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
    shown = [value]
    mask_secrets(shown, _SECRET_FIELDS.__contains__, (mask or Mask()).text)
    return escape(json.dumps(shown[0], ensure_ascii=False, **layout), keep="\n")
