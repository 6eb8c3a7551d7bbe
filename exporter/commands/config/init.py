"""Writes a configuration file for what a key can see."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from exporter.clock import SYSTEM
from exporter.collectors.discovery import COLLECTOR
from exporter.commands.config.document import document
from exporter.commands.options import flag_values
from exporter.commands.output import interruptible
from exporter.commands.output.printing import FAULT, MISUSE, complain
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Observer
from exporter.settings.account import AccountSettings
from exporter.settings.flag import ACCOUNT_FLAGS
from exporter.settings.loading import load
from exporter.targets.registry import Registry, Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import ResourceList, Target
from exporter.validation.faults import ConfigurationError
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of

# The time limit for listing, in timeouts of a single call.
_PATIENCE = 60
_EVERYTHING = ("dns_zones", "scripts", "shield_zones")


def init(config: Path | None, output: Path | None, given: Mapping[str, Any]) -> None:
    """Ask each account what it has, and write the file."""
    if output is not None and output.exists():
        complain(f"{output} is there already: remove it, or name another --output", MISUSE)
    try:
        settings = load(config, flag_values(given, ACCOUNT_FLAGS), os.environ)
    except ConfigurationError as error:
        complain(str(error))
    if not settings.accounts:
        complain("there is no account in the configuration: EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice")
    found: list[tuple[AccountSettings, Mapping[str, ResourceList]]] = []
    failures: list[str] = []
    for account in settings.accounts:
        lists, fault = interruptible.run(_listed(account))
        found.append((account, lists))
        if fault is not None:
            failures.append(f"{account.name}: {fault}")
    if failures and not any(lists for _, lists in found):
        complain("\n".join(failures))
    text = document(found)
    if output is None:
        click.echo(text, nl=False)
    else:
        try:
            with output.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            complain(f"{output} cannot be written: {error.strerror or error}")
        click.echo(f"{output}: {', '.join(_counts(found))}. Next: edge-exporter check --config {output}", err=True)
    if failures:
        complain("some lists could not be read:\n" + "\n".join(failures), FAULT)


def _counts(found: list[tuple[AccountSettings, Mapping[str, ResourceList]]]) -> Iterator[str]:
    for kind, words in (("dns_zone", "DNS zones"), ("script", "scripts"), ("shield_zone", "shield zones")):
        number = sum(len(lists[kind].resources) for _, lists in found if kind in lists)
        yield f"{number} {words}"


async def _listed(account: AccountSettings) -> tuple[Mapping[str, ResourceList], PlatformError | None]:
    """Return what discovery finds in an account, including what its settings exclude, and the error, if any."""
    whole = account.model_copy(update={key: type(getattr(account, key)).model_construct() for key in _EVERYTHING})
    registry = Registry(Shard(0, 1))
    selections: list[Selection] = list(from_settings.account_selections(whole))
    registry.configure(selections)
    target: Target = next(iter(registry.targets("account")))
    async with aclosing(client_of(account, Observer(), 1)) as client:
        caller = client.until(time.monotonic() + _PATIENCE * account.timeout)
        polled = await COLLECTOR.result(target, caller, registry, SYSTEM.utc())
    return (polled.found.lists if polled.found is not None else {}), polled.error
