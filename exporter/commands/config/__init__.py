"""`config`: writes a configuration file for what a key can see, and shows the merged settings.

In: flags, environment and file. Out: YAML with comments, or JSON; secrets are masked.
"""

from collections.abc import Mapping
from pathlib import Path

import click

from exporter.commands.loading import loading
from exporter.commands.options import AccountCommand, SettingsCommand, config_option, form_option


@click.group("config")
def command() -> None:
    """Write a configuration file, or show the settings that are in force.

    Exit codes: 0 it is written; 1 the configuration is wrong, or the platform cannot be reached; 2 misuse.
    """


@command.command("init", cls=AccountCommand)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write, which must not exist yet; standard output by default.",
)
@config_option
def init(config: Path | None, output: Path | None, flags: Mapping[str, str]) -> None:
    """Write a configuration file for what the key can see.

    It discovers zones, scripts, shield zones and rate limits; what is found now is in comments, one line each. To stop
    polling something, add it to exclude. The key is never written. Other settings are in comments, with their defaults.

    \b
      EDGE_EXPORTER_BASE_URL=https://api.example.net EDGE_EXPORTER_API_KEY_FILE=key \\
        edge-exporter config init --output edge-exporter.yml
    """  # noqa: D301 - click reads the \b
    with loading():
        from exporter.commands.config.init import init as write  # noqa: PLC0415 - not for the help
    write(config, output, flags)


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
