"""Reads the whole configuration, with every file that it names, and reports its faults together."""

from collections.abc import Mapping
from pathlib import Path

from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.web.auth.web_config import load_web_config


def read_settings(config: Path | None, flags: Mapping[str, str], environ: Mapping[str, str]) -> Settings:
    """Read the settings from a file, flags (name → text) and environment, then check the web configuration file.

    Raises:
        ConfigurationError: the settings are wrong, or that file is; the error contains all faults of the first of them.
    """
    settings = load(config, flags, environ)
    if settings.web.config_file is not None:
        load_web_config(settings.web.config_file)
    return settings
