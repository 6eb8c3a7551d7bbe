"""`state`: defines its options and its help."""

import click

from exporter.commands.loading import loading
from exporter.commands.output.help import Command, Group


@click.group("state", cls=Group)
def command() -> None:
    """Copy the counters' state between a state file and a state database.

    Exit codes: 0 it is copied; 1 it is not, and standard error says why; 2 misuse.
    """


@command.command("copy", cls=Command)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--installation", default="default", show_default=True, help="The name in state.installation.")
def copy(source: str, target: str, installation: str) -> None:
    """Copy every counter from one state to another that is empty, exactly.

    FROM and TO are each a state file's name, the address of a PostgreSQL without a password (which then comes from
    PGPASSWORD or ~/.pgpass), or @FILE, a file that holds the address with its password.

    No exporter may run on either. The copy is read again and compared; FROM is not changed.

    Exit codes: 0 all of it is copied; 1 it is not, and standard error says why; 2 an argument is wrong.
    """
    with loading():
        from exporter.commands.state.work import copy_between  # noqa: PLC0415 - not for the help
    copy_between(source, target, installation)
