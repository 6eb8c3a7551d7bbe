"""`run`: the daemon."""

import os
from pathlib import Path
from typing import Any

import click

from exporter import __version__
from exporter.commands.configuration import read_configuration
from exporter.commands.options import flag_values, settings_options
from exporter.commands.output.complaint import complain
from exporter.commands.output.serving import ListenError, serve
from exporter.daemon import Daemon
from exporter.log import configure, logger
from exporter.settings.faults import ConfigurationError
from exporter.settings.flags import flags
from exporter.settings.loading import configuration_file
from exporter.settings.model import Settings

FLAGS = flags()


@click.command("run")
@settings_options(FLAGS)
def command(config: Path | None, **given: Any) -> None:  # noqa: ANN401 - the flags' texts
    """Run the daemon.

    With EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY (or EDGE_EXPORTER_API_KEY_FILE) set it discovers what it
    can, and works. Flags go before environment variables, these before the configuration file.

    Every flag has a variable: EDGE_EXPORTER_ and its name in capitals, with _ for - and __ for a dot, so that
    --web.listen is EDGE_EXPORTER_WEB__LISTEN. What has no flag stands in the file alone: lists, databases and their
    queries, and all of an account but its address, its key and how that is sent. EDGE_EXPORTER_API_KEY has no flag,
    either. PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN, which the platform sets where a database is
    attached, make a database named default, or give the file's only one what it lacks.

    SIGHUP reads the configuration anew. SIGTERM and SIGINT (Ctrl-C) end it within five seconds.

    Exit codes: 0 it was told to end; 1 it could not start, because of the configuration, the address or another
    exporter on its state file, or another exporter has taken its shard in the state database, and standard error says
    why; 2 a flag does not exist. A state that cannot be written does not stop it: it serves, logs it, and counters
    stand still until it can.
    """

    def read() -> Settings:
        return read_configuration(config, flag_values(given, FLAGS), os.environ)

    try:
        settings = read()
    except ConfigurationError as error:
        complain(str(error))
    configure(settings.log.level, settings.log.format)
    serve(_run(Daemon(settings, read), configuration_file(config, os.environ)))


async def _run(daemon: Daemon, config: Path | None) -> None:
    def started() -> None:
        settings = daemon.settings
        logger().info(
            "started",
            version=__version__,
            config=None if config is None else str(config.absolute()),
            state=daemon.state_location,
            accounts=len(settings.accounts),
            databases=len(settings.databases),
        )

    try:
        await daemon.run(started)
    except OSError as error:
        raise ListenError(str(daemon.settings.web.listen), error, "--web.listen") from error
