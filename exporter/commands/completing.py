"""Completes the names of accounts and databases from the configuration file."""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from exporter.settings.flag import CONFIG_VARIABLE


def _complete(kind: str, context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names in a list of the configuration file that begin with the typed text."""
    return [CompletionItem(name) for name in _names(context, kind) if name.startswith(incomplete)]


complete_account = partial(_complete, "accounts")
complete_database = partial(_complete, "databases")


def _names(context: click.Context, kind: str) -> Iterator[str]:
    """Yield the names in a list of the file; none if it cannot be read, because a shell shows no messages."""
    named = context.params.get("config") or os.environ.get(CONFIG_VARIABLE, "").strip()
    if not named:
        return
    from exporter.validation.yaml_file import read_marked  # noqa: PLC0415 - YAML, for completion alone

    listed = (read_marked(Path(named), example="accounts:").data or {}).get(kind)
    for item in listed if isinstance(listed, list) else []:
        name = item.get("name") if isinstance(item, Mapping) else None
        if isinstance(name, str):
            yield name
