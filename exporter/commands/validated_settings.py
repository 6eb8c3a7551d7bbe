"""Reads the settings, and checks the web configuration file that they name."""

import os
from collections.abc import Mapping
from pathlib import Path

from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.web.auth.web_config import load_web_config


def read_settings(config: Path | None, flags: Mapping[str, str]) -> Settings:
    """Read the settings from a file, flags (name → text) and the environment, then check the web configuration file.

    Raises ConfigurationError with the faults of the settings or, if there are none, of the web configuration file.
    """
    settings = load(config, flags, os.environ)
    if settings.web.config_file is not None:
        load_web_config(settings.web.config_file)
    return settings
