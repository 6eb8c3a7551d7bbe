"""`check`: validates the configuration, then polls the targets and prints the results.

In: the configuration. Out: a table with the results, and exit code 1 if there is a fault. The targets are polled as by
a daemon that starts without a saved state; nothing is logged, and there is no web server.
"""

from collections.abc import Mapping
from pathlib import Path

import click

from exporter.commands.check.findings import check
from exporter.commands.options import SettingsCommand, config_option, form_option


@click.command("check", cls=SettingsCommand)
@click.option("--offline", is_flag=True, help="Only validate the configuration; contact nothing.")
@form_option("text", "json")
@config_option
def command(config: Path | None, *, offline: bool, form: str, flags: Mapping[str, str]) -> None:
    """Validate the configuration, then poll the targets and print the results.

    The request budget of an account is kept: ten thousand calls at ten a second take 17 minutes. The command connects
    to a state database, and changes nothing there. A feature that the account's plan lacks is not a fault. A budget
    that is too small for the intervals is not a fault either: the daemon will poll less often. A line below the
    account's table says how much longer the intervals will be.

    Exit codes: 0 no fault; 1 a fault of a target, a credential or the state database (see standard output), or of the
    configuration (see standard error); 2 misuse.
    """
    check(config, flags, offline=offline, is_json=form == "json")
