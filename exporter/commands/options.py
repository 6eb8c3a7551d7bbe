"""The settings' flags as options of a command."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from exporter.settings.flags import Flag, flags

C = TypeVar("C", bound=Callable[..., Any])


def account_flags() -> tuple[Flag, ...]:
    """The flags that say which account is asked, and how."""
    return tuple(flag for flag in flags() if flag.path[0] == "accounts")


def settings_options(known: tuple[Flag, ...]) -> Callable[[C], C]:
    """Give a command `--config` and these flags."""

    def decorate(function: C) -> C:
        for flag in reversed(known):
            default = f"  [default: {flag.default}]" if flag.default else ""
            click.option(flag.name, _parameter(flag), metavar=flag.metavar, default=None, help=f"{flag.help}{default}")(
                function
            )
        return click.option(
            "--config",
            # Whether it can be read is seen when it is, and said as of the file that the variable names.
            type=click.Path(path_type=Path, readable=False),
            default=None,
            help="The configuration file (YAML); EDGE_EXPORTER_CONFIG names it, too.",
        )(function)

    return decorate


def flag_values(given: Mapping[str, Any], known: tuple[Flag, ...]) -> dict[str, str]:
    """What was given of these flags, by their names."""
    return {flag.name: given[_parameter(flag)] for flag in known if given.get(_parameter(flag)) is not None}


def _parameter(flag: Flag) -> str:
    return flag.name.lstrip("-").replace(".", "__").replace("-", "_")
