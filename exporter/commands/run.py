"""`run`: runs the daemon. In: flags, environment and file. Out: a process that serves until SIGTERM or SIGINT."""

import os
from collections.abc import Mapping
from pathlib import Path

import click

from exporter.commands.loading import loading
from exporter.commands.options import WHOLE, SettingsCommand, config_option


class RunCommand(SettingsCommand):
    """Names the flags of the settings in its help, a line for each section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and the names of the other flags."""
        super().format_options(ctx, formatter)
        if ctx.meta.get(WHOLE):
            return
        sections: dict[str, dict[str, None]] = {}
        for option in self.other_params():
            *steps, key = option.opts[0].split(".")
            section = "--collectors.NAME" if steps[0] == "--collectors" else steps[0]
            sections.setdefault(section, {})[key] = None
        with formatter.indentation():
            for section, keys in sections.items():
                formatter.write_text(f"{section}.{', .'.join(keys)}")


@click.command("run", cls=RunCommand)
@config_option
def command(config: Path | None, flags: Mapping[str, str]) -> None:
    """Run the daemon.

    EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY (or EDGE_EXPORTER_API_KEY_FILE) suffice. Flags go before variables,
    these before the file. --web.listen is EDGE_EXPORTER_WEB__LISTEN. Lists and databases are set in the file only.
    PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN name a database, too.

    SIGHUP reloads the configuration; SIGTERM and SIGINT end the daemon within five seconds.

    Exit codes: 0 ended by a signal; 1 it cannot start, and standard error says why; 2 there is no such flag.
    """
    with loading():  # not for the help
        from exporter import __version__  # noqa: PLC0415
        from exporter.commands.configuration import read_configuration  # noqa: PLC0415
        from exporter.commands.output.serving import listening, serve  # noqa: PLC0415
        from exporter.daemon.daemon import Daemon, run  # noqa: PLC0415
        from exporter.log import configure, logger  # noqa: PLC0415
        from exporter.settings.loading import configuration_file  # noqa: PLC0415
        from exporter.settings.model import Settings  # noqa: PLC0415

    def read() -> Settings:
        return read_configuration(config, flags, os.environ)[0]

    settings = read()
    configure(settings.log.level, settings.log.format)
    path = configuration_file(config, os.environ)

    def started(daemon: Daemon) -> None:
        logger().info(
            "started",
            version=__version__,
            config=None if path is None else str(path.absolute()),
            state=daemon.shards.storage.location or None,
            accounts=len(daemon.settings.accounts),
            databases=len(daemon.settings.databases),
        )

    async def work() -> None:
        with listening(str(settings.web.listen), "--web.listen"):
            await run(settings, read, started)

    serve(work())
