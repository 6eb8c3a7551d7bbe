"""`endpoint`: tries configured endpoints on the platform, and proposes metrics for an answer.

In: a file of endpoints, or an answer. Out: the call, the answer shortened, what each expression reads, and the
exposition; or a file of endpoints to begin with. Nothing is written, and no secret is printed.
"""

from collections.abc import Mapping
from pathlib import Path

import click

from exporter.commands.loading import loading
from exporter.commands.options import AccountCommand, config_option
from exporter.commands.output.printing import echo


@click.group("endpoint")
def command() -> None:
    """Try endpoints of your own; docs/endpoints.md shows how they are declared."""


@command.command("try", cls=AccountCommand, short_help="Call each endpoint of a file once, and print its metrics.")
@click.argument("file", required=False, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--target", metavar="ID", default="", help="The target that is polled; the first one of a list or of ids."
)
@click.option("--account", metavar="NAME", help="The account to call; needed if there are several.")
@click.option(
    "--from-answer",
    "answer",
    metavar="FILE|-",
    help="Propose metrics for this answer (JSON; -: standard input) and contact nothing.",
)
@click.option("--name", default="things", show_default=True, help="The proposed endpoint's name, with --from-answer.")
@config_option
def try_endpoints(
    file: Path | None,
    config: Path | None,
    *,
    target: str,
    account: str | None,
    answer: str | None,
    name: str,
    flags: Mapping[str, str],
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
    with loading():
        from exporter.commands.endpoint import attempt  # noqa: PLC0415 - not for the help
    if answer is not None:
        if target:
            echo("--target does nothing with --from-answer, which contacts nothing", err=True)
        attempt.propose_metrics(answer, name)
    elif file is not None:
        attempt.try_file(file, config, flags, account=account, target=target)
