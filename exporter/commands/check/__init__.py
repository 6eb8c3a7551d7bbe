"""`check`: validates the configuration, then polls once what the daemon would poll.

In: the configuration. Out: a table that says what answers, and exit code 1 if anything is wrong. Targets are polled as
by a daemon that has just started, but without its state, its log and its web server.
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
    """Validate the configuration, then poll once what the daemon would poll.

    The budget of each account is kept: ten thousand calls at ten a second take a quarter of an hour. The command
    connects to a state database, and changes nothing there. A feature that the plan lacks is not a fault. A budget that
    is too small for the intervals is not one either: the daemon then polls less often, and a line below the account's
    table says by how much.

    Exit codes: 0 all is well; 1 a target, a credential or the state database fails (see standard output), or the
    configuration is wrong (see standard error); 2 misuse.
    """
    check(config, flags, offline=offline, is_json=form == "json")
