"""`explain`: why has a family no series."""

import json
import os
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

import click

from exporter.causes import Cause
from exporter.commands.explain.client import Access, NoAnswerError, ask
from exporter.commands.explain.report import details, summary
from exporter.commands.output.complaint import MISUSE, complain
from exporter.commands.output.help import Command
from exporter.commands.output.printing import echo
from exporter.commands.output.table import terminal_width

_FAMILY = "edge_"
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("explain", cls=Command)
@click.argument("things", nargs=-1, metavar="[FAMILY|TARGET]...")
@click.option("--collector", multiple=True, help="Only families of this collector.")
@click.option("--account", multiple=True, help="Only targets of this account.")
@click.option("--cause", multiple=True, type=click.Choice(list(Cause)), metavar="CAUSE", help="Only this cause.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=1000, show_default=True, help="Most absences listed.")
@click.option("--config", type=_FILE, help="The exporter's configuration file, whose web.listen is asked.")
@click.option("--url", help="Where the exporter serves, such as http://127.0.0.1:9877; in place of --config.")
@click.option("--username", default="", help="The user of the web configuration's basic authentication.")
@click.option("--password-file", type=click.File(encoding="utf-8"), help="The file of the password; - for stdin.")
@click.option("--ca-file", type=_FILE, help="Authorities that are trusted for https, PEM.")
@click.option("--cert-file", type=_FILE, help="The client's certificate, PEM.")
@click.option("--key-file", type=_FILE, help="The key of the client's certificate, PEM.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="text or json.")
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
    output: str,
) -> None:
    """Ask a running exporter why families have no series: one cause each, its evidence, and what to do.

    FAMILY is the name of a family, as edge_dns_queries_total; TARGET is a target as dns_zone/102, or its name, as
    shop.example. Without either, a summary by cause is printed.
    """
    fields = [("family" if thing.startswith(_FAMILY) else "target", thing) for thing in things]
    fields += [("collector", name) for name in collector]
    fields += [("account", name) for name in account]
    fields += [("cause", name) for name in cause]
    access = Access(
        url=_address(url, config),
        username=username,
        password=password_file.read().rstrip("\r\n") if password_file is not None else "",
        ca_file=ca_file,
        certificate=cert_file,
        key=key_file,
    )
    try:
        answer = ask(access, [*fields, ("limit", str(limit))])
    except NoAnswerError as error:
        complain(str(error))
    if output == "json":
        echo(json.dumps(answer, indent=2))
        return
    width = terminal_width()
    for unknown in answer["unknown_targets"]:
        echo(f"Nothing is known of {unknown!r}: neither a target nor a name that discovery has found.")
    if not fields:
        echo(summary(answer, width))
        if answer["absences"]:
            echo("\nName a family, a target, --collector or --cause to see the evidence and what to do.")
        return
    if answer["absences"]:
        echo(details(answer, width))
    elif len(answer["unknown_targets"]) < len(things) or not things:
        echo("Nothing is absent: every family that could be there has series.")
    left = answer["matched"] - len(answer["absences"])
    if left:
        echo(f"\n… and {left:,} more absences: name a target, or raise --limit.")


def _address(url: str | None, config: Path | None) -> str:
    if url is None:
        # Only what reads settings has to load them.
        from exporter.commands.explain.address import AddressError, exporter_url  # noqa: PLC0415

        try:
            return exporter_url(config, os.environ)
        except AddressError as error:
            complain(f"{error}\nGive --url to name the exporter's address.")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        complain(f"--url is {url!r}; expected an address such as http://127.0.0.1:9877", MISUSE)
    return url.rstrip("/")
