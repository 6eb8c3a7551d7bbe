"""`run`: runs the daemon. In: flags, environment and file. Out: a process that serves until SIGTERM or SIGINT."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import click

from exporter import __version__
from exporter.commands.options import SettingsCommand, config_option
from exporter.commands.output.serving import listening, serve
from exporter.commands.validated_settings import read_settings
from exporter.daemon.daemon import Daemon, run
from exporter.log import configure, logger
from exporter.settings.loading import configuration_file
from exporter.settings.model import Settings


@click.command("run", cls=SettingsCommand, lists_all=True)
@config_option
def command(config: Path | None, flags: Mapping[str, str]) -> None:
    """Run the daemon.

    EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY (or EDGE_EXPORTER_API_KEY_FILE) suffice. Flags win over
    EDGE_EXPORTER_ variables, and variables over the file. The variable of the flag --web.listen is
    EDGE_EXPORTER_WEB__LISTEN. Lists are set in the file. A database is defined in the file, or by PLATFORM_DATABASE_URL
    and PLATFORM_DATABASE_AUTH_TOKEN. These variables also set a URL or a token that the file's only database lacks.

    SIGHUP reloads the configuration; SIGTERM and SIGINT end the daemon within five seconds.

    Exit codes: 0 ended by a signal; 1 the daemon cannot start (see standard error); 2 misuse.
    """
    read = partial(read_settings, config, flags)
    settings = read()
    configure(settings.log.level, settings.log.format)
    serve(_run_daemon(settings, read, configuration_file(config, os.environ)))


async def _run_daemon(settings: Settings, read: Callable[[], Settings], file: Path | None) -> None:
    with listening("--web.listen"):
        await run(settings, read, lambda daemon: _log_start(daemon, file))


def _log_start(daemon: Daemon, file: Path | None) -> None:
    logger().info(
        "started",
        version=__version__,
        config=None if file is None else str(file.absolute()),
        state=daemon.work.storage.location or None,
        accounts=len(daemon.settings.accounts),
        databases=len(daemon.settings.databases),
    )
