"""`explain`: defines its options and its help."""

from pathlib import Path
from typing import TextIO

import click

from exporter.collectors.causes import Cause
from exporter.commands.loading import loading
from exporter.commands.options import form_option
from exporter.commands.output.help import Command

_FILE = click.Path(path_type=Path, dir_okay=False)
# Use the values: click would use the names of the enumeration's members.
_CAUSES = [cause.value for cause in Cause]


@click.command("explain", cls=Command)
@click.argument("things", nargs=-1, metavar="[FAMILY|TARGET]...")
@click.option("--collector", multiple=True, help="Only families of this collector.")
@click.option("--account", multiple=True, help="Only targets of this account.")
@click.option("--cause", multiple=True, type=click.Choice(_CAUSES), metavar="CAUSE", help="Only this cause.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=1000, show_default=True, help="List at most this many absences."
)
@click.option("--config", type=_FILE, help="The exporter's configuration file; its web.listen is the address.")
@click.option("--url", help="The exporter's address, such as http://127.0.0.1:9877; in place of --config.")
@click.option("--username", default="", help="The user of the web configuration's basic authentication.")
@click.option("--password-file", type=click.File(encoding="utf-8"), help="The file of the password; - for stdin.")
@click.option("--ca-file", type=_FILE, help="Authorities that are trusted for https, PEM.")
@click.option("--cert-file", type=_FILE, help="The client's certificate, PEM.")
@click.option("--key-file", type=_FILE, help="The key of the client's certificate, PEM.")
@form_option("text", "json")
def command(
    things: tuple[str, ...],
    *,
    collector: tuple[str, ...],
    account: tuple[str, ...],
    cause: tuple[str, ...],
    limit: int,
    config: Path | None,
    url: str | None,
    username: str,
    password_file: TextIO | None,
    ca_file: Path | None,
    cert_file: Path | None,
    key_file: Path | None,
    form: str,
) -> None:
    """Ask a running exporter why families have no series: one cause each, its evidence, and what to do.

    FAMILY is the name of a family, such as edge_dns_queries_total. TARGET is a target, such as dns_zone/102, or its
    name, such as shop.example. Without either, a summary by cause is printed.
    """
    with loading():
        from exporter.commands.explain.client import Access  # noqa: PLC0415 - asks over HTTP; not for the help
        from exporter.commands.explain.work import address, explain  # noqa: PLC0415
    access = Access(
        url=address(url, config),
        username=username,
        password=password_file.read().rstrip("\r\n") if password_file is not None else "",
        ca_file=ca_file,
        certificate=cert_file,
        key=key_file,
    )
    filters = {"collector": collector, "account": account, "cause": cause}
    explain(access, things, filters, limit=limit, is_json=form == "json")
