"""`call`: carries out one operation of the platform from the command line.

In: the name of an operation and its parameters as options. Out: the answer as JSON, with secrets masked, and different
exit codes for refused, not found, limited and unreachable. An operation that writes requires `--yes`.
"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from exporter.commands.lazy_imports import loading
from exporter.commands.options import AccountCommand, config_option
from exporter.commands.output.printing import terminal_width


def _complete_operation(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from exporter.commands.call import callable_operations  # noqa: PLC0415 - the platform's models; not for the help

    found = (one for name, one in callable_operations.CALLABLE.items() if name.startswith(incomplete))
    return [CompletionItem(one.name, help=one.help) for one in found]


class _OperationCommand(AccountCommand):
    """A command whose first argument is an operation; it takes the parameters of that operation as options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self._shared = self.params, self.help

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line."""
        self.params, self.help = self._shared
        if args and not args[0].startswith("-"):
            with loading():
                from exporter.commands.call import callable_operations, parameters  # noqa: PLC0415 - see above
            if args[0] in callable_operations.CALLABLE or not ctx.resilient_parsing:
                ctx.obj = callable_operations.find(args[0])
                self.params = [*parameters.options_of(ctx.obj), *self.params]
                self.help = f"{callable_operations.describe(ctx.obj)}\n\n\b\n{ctx.obj.method} {ctx.obj.path}"
        return super().parse_args(ctx, args)


@click.command("call", cls=_OperationCommand, options_metavar="")
@click.argument("operation", required=False, shell_complete=_complete_operation)
@click.argument("statements", nargs=-1, metavar="[OPTIONS]")
@click.option("--list", "lists", is_flag=True, help="List the operations and exit.")
@click.option("--account", metavar="NAME", help="The account to call; needed if there are several.")
@click.option("--database", metavar="NAME", help="The database for sql and database_pipeline.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation before a change.")
@config_option
@click.pass_context
def command(context: click.Context, /, operation: str | None, *, lists: bool, **given: Any) -> None:  # noqa: ANN401
    """Carry out one documented operation, and print what it answers as JSON.

    The parameters are those of the interface, as options: `edge-exporter call OPERATION --help` lists them. A secret's
    value is taken from standard input (--Secret=-) or a file (--Secret=@FILE), without the line break at its end, and
    never from an argument. An operation that changes something asks for confirmation; without a terminal it requires
    --yes.

    \b
      edge-exporter call dns_statistics --id=101 --dateFrom=2026-02-01 --dateTo=2026-02-08
      edge-exporter call script_add_secret --id=7 --Name=TOKEN --Secret=@token.txt
      edge-exporter call sql 'SELECT count(*) FROM orders' --database orders

    A statement of `sql` is SQL, - (standard input) or @FILE. All of them go in one request, and each gives its columns
    and rows, or its own error. A statement that may write needs a confirmation.

    The configuration is that of `run`: flags, EDGE_EXPORTER_ variables, a file. Keys are in variables or files.
    A database is one of the file, or the one that PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN name.

    Exit codes: 0 the platform did it; 1 the platform refused or failed, or a statement did; 2 misuse, a wrong
    configuration, or not confirmed, and nothing was sent; 3 the platform was not reached, or gave no answer in time;
    4 not authorised: the key is refused, may not do this, or is unreadable; 5 there is no such thing; 6 the platform
    limits the rate (429).
    """  # noqa: D301 - click reads the \b
    if lists:
        with loading():
            from exporter.commands.call import callable_operations  # noqa: PLC0415 - see above
        click.echo(callable_operations.listing(terminal_width()))
        return
    if operation is None:
        raise click.UsageError("Missing argument 'OPERATION'; 'edge-exporter call --list' lists them.")
    if context.obj is None:
        raise click.UsageError("The operation comes first, before all options.")
    with loading():
        from exporter.commands.call.sending import call  # noqa: PLC0415 - neither for the help nor for the list
    call(context.obj, **given)
