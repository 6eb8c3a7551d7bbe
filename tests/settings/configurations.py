"""Writes configuration files for tests, and loads them."""

from pathlib import Path
from textwrap import dedent

from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault

ENOUGH = {"EDGE_EXPORTER_BASE_URL": "https://api.example.net", "EDGE_EXPORTER_API_KEY": "hunter2"}
ACCOUNT = """\
accounts:
  - name: main
    base_url: https://api.example.net
    api_key: hunter2
"""


def write(directory: Path, text: str, name: str = "config.yml") -> Path:
    """Write a file with this text, without its common indentation."""
    path = directory / name
    path.write_text(dedent(text), encoding="utf-8")
    return path


def load_text(folder: Path, text: str) -> Settings:
    """Load the settings of a file with this text."""
    return load(write(folder, text), {}, {})


def refusal(folder: Path, text: str) -> list[str]:
    """Return the printed faults of a file with this text, without its folder; empty if it is accepted."""
    faults: tuple[ConfigurationFault, ...] = ()
    try:
        load_text(folder, text)
    except ConfigurationError as error:
        faults = error.faults
    return [str(fault).replace(f"{folder}/", "") for fault in faults]
