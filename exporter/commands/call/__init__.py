"""`call`: carries out one operation of the platform.

In: the name of an operation, and its parameters as options. Out: the answer as JSON, with secrets masked, and an exit
code that says what failed. An operation that writes requires `--yes`.
"""

import click

from exporter.commands.call.subcommands import CALLABLE, command_of

_HELP = """Carry out one operation of the platform, and print the answer as JSON.

The parameters of an operation are options: `edge-exporter call OPERATION --help` lists them. The value of a secret is
read from a file (--Secret=FILE) or standard input (--Secret=-); a line break at the end is left out. An operation that
may change something is sent only with --yes; without --yes, the command prints the request.

\b
  edge-exporter call dns_statistics --id=101 --dateFrom=2026-02-01 --dateTo=2026-02-08
  edge-exporter call script_add_secret --id=7 --Name=TOKEN --Secret=token.txt --yes
  edge-exporter call sql 'SELECT count(*) FROM orders' --database orders

`sql` sends its statements in one request, and prints the columns and rows, or the error, of each statement.

The configuration is that of `run`: flags, EDGE_EXPORTER_ variables, a file. Keys are read from variables or files.
A database is defined in the file, or by PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN.

Exit codes: 0 success; 1 the platform refused the request, failed or gave an unusable answer, or an SQL statement
failed; 2 nothing was sent: misuse, a wrong configuration, or a change without --yes; 3 the platform was not reached,
or its answer did not arrive completely; 4 the key is refused, lacks a permission, or cannot be used; 5 not found;
6 the platform limits the rate (429).
"""

command = click.Group(
    "call", list(map(command_of, CALLABLE.values())), help=_HELP, subcommand_metavar="OPERATION [OPTIONS]"
)
