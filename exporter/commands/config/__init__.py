"""`config`: shows the merged settings.

In: flags, environment and file. Out: a line for each setting, or JSON; secrets are masked.
"""

from collections.abc import Mapping
from pathlib import Path

import click

from exporter.commands.lazy_imports import loading
from exporter.commands.options import SettingsCommand, config_option, form_option


@click.group("config")
def command() -> None:
    """Show the settings that are in force; `edge-exporter assets configuration DIR` writes an example of the file."""


@command.command("show", cls=SettingsCommand, short_help="Show the merged settings and what set each of them.")
@form_option("text", "json")
@config_option
def show(config: Path | None, *, form: str, flags: Mapping[str, str]) -> None:
    """Show the merged settings, each with what set it: a flag, a variable, a line of the file, or the default.

    Secrets are masked. Files that the configuration names are opened only to validate it.
    """
    with loading():
        from exporter.commands.config.show import show as write  # noqa: PLC0415 - not for the help
    write(config, flags, is_json=form == "json")
