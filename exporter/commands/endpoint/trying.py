"""Tries a file of endpoints, or proposes an endpoint for an answer, and prints the result."""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from exporter.commands.call.sending import choose_account
from exporter.commands.endpoint.attempt import Attempt, shortened
from exporter.commands.endpoint.proposal import propose
from exporter.commands.options import flag_values
from exporter.commands.output import interruptible
from exporter.commands.output.printing import FAULT, MISUSE, complain, echo
from exporter.platform.http.mask import mask_secrets
from exporter.settings.endpoint_files import read_endpoint_file
from exporter.settings.endpoint_names import misnamed
from exporter.settings.flag import ACCOUNT_FLAGS
from exporter.settings.loading import SettingsError, load_with_endpoints
from exporter.validation.faults import Fault, written

_MOST_BYTES = 16 * 1024 * 1024


def try_file(file: Path, config: Path | None, given: Mapping[str, Any], *, account: str | None, target: str) -> None:
    """Ask the platform once for each endpoint of a file; ends with exit code 1 where one fails, 2 where it is wrong."""
    try:
        settings = load_with_endpoints([file], config, flag_values(given, ACCOUNT_FLAGS), os.environ)
    except SettingsError as error:
        complain(str(error), MISUSE)
    chosen = choose_account(settings, account)
    marked = read_endpoint_file(file)
    for path, message in misnamed(settings.endpoints):
        echo(f"warning: {Fault(marked.source, marked.line(path), written(path), message)}", err=True)
    attempt = Attempt(settings, chosen, target)
    for line in interruptible.run(attempt.run()):
        echo(line)
    if attempt.failed:
        sys.exit(FAULT)


def propose_metrics(source: str, name: str) -> None:
    """Print a file with one endpoint for an answer, which is in a file or on standard input (`-`)."""
    if re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name) is None:
        raise click.UsageError(f"--name: found {name[:60]!r}, expected small letters, digits and '_'")
    try:
        raw = sys.stdin.buffer.read(_MOST_BYTES + 1) if source == "-" else Path(source).read_bytes()[: _MOST_BYTES + 1]
    except OSError as error:
        complain(f"{source}: {(error.strerror or 'cannot be read').lower()}", MISUSE)
    if len(raw) > _MOST_BYTES:
        complain(f"{source} holds more than 16 MiB", MISUSE)
    try:
        answer = mask_secrets(json.loads(raw))
    except (ValueError, RecursionError):
        complain(f"{source} holds no JSON; expected an answer of the platform", MISUSE)
    for line in shortened(answer):
        echo(f"# {line}")
    for line in propose(answer, name):
        echo(line)
