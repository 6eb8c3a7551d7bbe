"""`call`: carries out one operation of the platform from the command line.

In: the name of an operation and its arguments. Out: the answer as JSON, with secrets masked, and different exit codes
for refused, not found, limited and unreachable. An operation that writes requires `--yes`.
"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from exporter.commands.loading import loading
from exporter.commands.options import AccountCommand, config_option, form_option
from exporter.commands.output.printing import terminal_width

_ACCOUNT = "The account to call; needed if there are several."
_DATABASE = "The database for sql and database_pipeline."


def _complete_operation(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from exporter.commands.call import operations  # noqa: PLC0415 - the platform's models; not for the help

    found = (one for name, one in operations.CALLABLE.items() if name.startswith(incomplete))
    return [CompletionItem(one.name, help=one.help) for one in found]


def _complete_argument(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from exporter.commands.call import operations  # noqa: PLC0415 - see above

    name, words = context.params.get("operation") or "", context.params.get("arguments") or ()
    found = operations.completions(name, words, incomplete)
    return [CompletionItem(text, help=meaning or None) for text, meaning in found]


@click.command("call", cls=AccountCommand, add_help_option=False)
@click.argument("operation", required=False, shell_complete=_complete_operation)
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...", shell_complete=_complete_argument)
@click.option("--list", "lists", is_flag=True, help="List the operations and exit.")
@click.option("--account", metavar="NAME", help=_ACCOUNT)
@click.option("--database", metavar="NAME", help=_DATABASE)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation before a change.")
@click.option("--dry-run", is_flag=True, help="Print the request with its secrets masked, and send nothing.")
@form_option("text", "json")
@click.option("--compact", is_flag=True, help="Print JSON on one line, also on a terminal.")
@config_option
@click.option("-h", "--help", "helps", is_flag=True, help="Show this message, or what an OPERATION takes, and exit.")
@click.pass_context
def command(
    context: click.Context,
    /,
    operation: str | None,
    arguments: tuple[str, ...],
    *,
    lists: bool,
    form: str,
    helps: bool,
    **given: Any,  # noqa: ANN401 - the other options
) -> None:
    """Carry out one documented operation, and print what it answers as JSON.

    The parameters are those of the interface, as NAME=VALUE. A secret's value is taken from standard input
    (Secret=-) or a file (Secret=@FILE), without the line break at its end, and never from an argument. An operation
    that changes something asks for confirmation; without a terminal it requires --yes.

    \b
      edge-exporter call dns_statistics id=101 dateFrom=2026-02-01 dateTo=2026-02-08
      edge-exporter call script_add_secret id=7 Name=TOKEN Secret=@token.txt
      edge-exporter call sql 'SELECT count(*) FROM orders' --database orders

    The configuration is that of `run`: flags, EDGE_EXPORTER_ variables, a file. Keys are in variables or files.
    A database is one of the file, or the one that PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN name.

    Exit codes: 0 the platform did it; 1 the platform refused or failed, or a statement did; 2 misuse, a wrong
    configuration, or not confirmed, and nothing was sent; 3 the platform was not reached, or gave no answer in time;
    4 not authorised: the key is refused, may not do this, or is unreadable; 5 there is no such thing; 6 the platform
    limits the rate (429).
    """  # noqa: D301 - click reads the \b
    if helps and operation is None:
        click.echo(context.get_help())
        return
    with loading():
        from exporter.commands.call import operations  # noqa: PLC0415 - see above
    if helps and operation is not None:
        formatter = context.make_formatter()
        operations.explain(operations.find(operation), formatter)
        click.echo(formatter.getvalue(), nl=False)
        return
    if lists:
        click.echo(operations.as_json() if form == "json" else operations.listing(terminal_width()))
        return
    if operation is None:
        raise click.UsageError("Missing argument 'OPERATION'; 'edge-exporter call --list' lists them.")
    with loading():
        from exporter.commands.call.sending import call  # noqa: PLC0415 - neither for the help nor for the list
    call(operation, arguments, **given)
