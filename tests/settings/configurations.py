"""Writes configuration files for tests, and loads them."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.validation.faults import ConfigurationError, Fault

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


def load_text(
    directory: Path,
    text: str,
    flags: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    host_name: str = "host",
) -> Settings:
    """Load the settings of a file with this text."""
    return load(write(directory, text), flags, environ or {}, host_name=host_name)


def refusal(
    directory: Path,
    text: str | None,
    flags: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    host_name: str = "host",
) -> list[str]:
    """Return the printed faults of a file with this text, without its directory; empty if it is accepted."""
    path = None if text is None else write(directory, text)
    faults: tuple[Fault, ...] = ()
    try:
        load(path, flags, environ or {}, host_name=host_name)
    except ConfigurationError as error:
        faults = error.faults
    return [str(fault).replace(f"{directory}/", "") for fault in faults]
