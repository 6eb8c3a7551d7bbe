"""Reads the whole configuration, with every file that it names, and reports its faults together."""

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.untrusted.regular_file import unreadable
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault
from exporter.web.auth.web_config import load_web_config


def read_configuration(config: Path | None, flags: Mapping[str, str], environ: Mapping[str, str]) -> Settings:
    """Read the settings from a file, flags (name → text) and environment, then check the files that they name.

    Raises:
        ConfigurationError: it holds every fault of the settings; if they have none, those of the files.
    """
    settings = load(config, flags, environ)
    faults = [*_untrustworthy(settings)]
    if settings.web.config_file is not None:
        try:
            load_web_config(settings.web.config_file)
        except ConfigurationError as error:
            faults.extend(error.faults)
    if faults:
        raise ConfigurationError(faults)
    return settings


def _untrustworthy(settings: Settings) -> Iterator[ConfigurationFault]:
    """Yield the files of certificates that cannot be used; the settings check only that they exist."""
    for number, account in enumerate(settings.accounts):
        if account.ca_file is None:
            continue
        try:
            ssl.create_default_context(cafile=account.ca_file)
        except ssl.SSLError:
            problem = "holds no certificate in PEM form"
        except OSError as error:
            problem = unreadable(error)
        else:
            continue
        yield settings.fault(("accounts", number, "ca_file"), f"{account.ca_file} {problem}")
