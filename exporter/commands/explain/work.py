"""Asks a running exporter what is absent, and prints its answer."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from exporter.commands.explain.client import Access, NoAnswerError, ask
from exporter.commands.explain.report import details, summary
from exporter.commands.output.printing import MISUSE, complain, echo, terminal_width

_FAMILY = "edge_"


def explain(
    access: Access, things: Sequence[str], filters: Mapping[str, Sequence[str]], *, limit: int, is_json: bool
) -> None:
    """Print a summary of the absences, or each absence of the wanted families, targets and filters.

    Args:
        access: how the exporter is reached.
        things: names of the wanted families and targets.
        filters: a field of an absence (collector, account, cause) → the wanted values.
        limit: most absences that are listed.
        is_json: print the answer as JSON for a program.
    """
    targets = [thing for thing in things if not thing.startswith(_FAMILY)]
    fields = [("family" if thing.startswith(_FAMILY) else "target", thing) for thing in things]
    fields += [(field, value) for field, values in filters.items() for value in values]
    try:
        answer = ask(access, [*fields, ("limit", str(limit))])
    except NoAnswerError as error:
        complain(str(error))
    if is_json:
        echo(json.dumps(answer, indent=2))
        return
    width = terminal_width()
    for unknown in answer["unknown_targets"]:
        echo(f"{unknown!r} is unknown: neither a target nor a name that discovery has found.")
    if not fields:
        echo(summary(answer, width))
        if answer["absences"]:
            echo("\nName a family, a target, --collector or --cause to see the evidence and what to do.")
        return
    if answer["absences"]:
        echo(details(answer, width))
    elif len(answer["unknown_targets"]) < len(targets) or not targets:
        echo("Nothing is absent: every possible family has series.")
    left = answer["matched"] - len(answer["absences"])
    if left:
        echo(f"\n… and {left:,} more absences: name a target, or raise --limit.")


def address(url: str | None, config: Path | None) -> str:
    """Return the address of the exporter: `--url`, or the one that a configuration file listens on."""
    if url is None:
        # Load the settings only if they are needed.
        from exporter.commands.explain.address import AddressError, exporter_url  # noqa: PLC0415

        try:
            return exporter_url(config, os.environ)
        except AddressError as error:
            complain(f"{error}\nGive --url to name the exporter's address.")
    if "@" in url:
        complain("--url contains a user name or a password; expected --username and --password-file", MISUSE)
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        complain(f"--url is {url!r}; expected an address such as http://127.0.0.1:9877", MISUSE)
    return url.rstrip("/")
