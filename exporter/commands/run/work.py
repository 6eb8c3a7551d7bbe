"""Runs the daemon from the command line."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporter import __version__
from exporter.commands.configuration import read_configuration
from exporter.commands.options import flag_values
from exporter.commands.output.printing import complain
from exporter.commands.output.serving import ListenError, serve
from exporter.daemon.daemon import Daemon
from exporter.log import configure, logger
from exporter.settings.flags import flags
from exporter.settings.loading import configuration_file
from exporter.settings.model import Settings
from exporter.validation.faults import ConfigurationError


def run(config: Path | None, given: Mapping[str, Any]) -> None:
    """Run the daemon until it receives a signal.

    Args:
        config: the configuration file.
        given: the texts of flags, by their parameters' names.
    """

    def read() -> Settings:
        return read_configuration(config, flag_values(given, flags()), os.environ)

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
