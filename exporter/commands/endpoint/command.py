"""`endpoint`: endpoints of one's own, tried before they are configured."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from exporter.commands.call.client import ChoiceError, choose
from exporter.commands.endpoint.attempt import Attempt, shortened
from exporter.commands.endpoint.proposal import propose
from exporter.commands.options import account_flags, flag_values, settings_options
from exporter.commands.output import interruptible
from exporter.commands.output.complaint import FAULT, MISUSE, complain
from exporter.commands.output.printing import echo
from exporter.platform.api.document import mask_secrets
from exporter.settings.account import AccountSettings
from exporter.settings.endpoint_files import read_endpoint_file
from exporter.settings.endpoint_names import misnamed
from exporter.settings.faults import Fault, written
from exporter.settings.loading import SettingsError, load_with_endpoints

FLAGS = account_flags()
_MOST_BYTES = 16 * 1024 * 1024


@click.group("endpoint")
def command() -> None:
    """Try endpoints of your own; docs/endpoints.md shows how they are declared."""


@command.command("try")
@click.argument("file", required=False, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--target", metavar="ID", default="", help="The target that is polled; the first one of a list or of ids."
)
@click.option("--account", metavar="NAME", help="The account that is asked; needed where there are several.")
@click.option(
    "--from-answer",
    "answer",
    metavar="FILE|-",
    help="Propose metrics for this answer (JSON; -: standard input) and contact nothing.",
)
@click.option("--name", default="things", show_default=True, help="The proposed endpoint's name, with --from-answer.")
@settings_options(FLAGS)
def try_endpoints(
    file: Path | None,
    config: Path | None,
    *,
    target: str,
    account: str | None,
    answer: str | None,
    name: str,
    **given: Any,  # noqa: ANN401 - the flags' texts
) -> None:
    """Ask the platform once for each endpoint in FILE, and print the answer, what is read, and the metrics.

    \b
      edge-exporter endpoint try pull_zones.yml --target 101
      curl -H "AccessKey: $KEY" https://api.example.net/billing > answer.json
      edge-exporter endpoint try --from-answer answer.json --name billing

    The account is that of `run`: flags, EDGE_EXPORTER_ variables, a configuration file. Texts of fields that are named
    like a key, password, token or secret are masked. Exit code 1 where an endpoint fails, 2 where FILE is wrong.
    """  # noqa: D301 - click reads the \b
    if (file is None) == (answer is None):
        raise click.UsageError("expected FILE, or --from-answer with an answer")
    if answer is not None:
        _propose(answer, name)
        return
    assert file is not None  # noqa: S101 - one of the two is there
    try:
        settings = load_with_endpoints([file], config, flag_values(given, FLAGS), os.environ)
        chosen = choose(settings, account=account, database=None, is_sql=False).settings
    except (SettingsError, ChoiceError) as error:
        complain(str(error), MISUSE)
    assert isinstance(chosen, AccountSettings)  # noqa: S101 - an account was chosen
    marked = read_endpoint_file(file)
    for path, message in misnamed(settings.endpoints):
        echo(f"warning: {Fault(marked.source, marked.line(path), written(path), message)}", err=True)
    attempt = Attempt(settings, chosen, target)
    for line in interruptible.run(attempt.run()):
        echo(line)
    if attempt.failed:
        sys.exit(FAULT)


def _propose(source: str, name: str) -> None:
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
