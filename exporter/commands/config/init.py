"""Writes a configuration file for what a key can see: what is discovered, and the other settings, in comments."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import islice
from pathlib import Path
from typing import Any

import click

from exporter.clock import SYSTEM
from exporter.collectors.collector import Context
from exporter.collectors.discovery import COLLECTOR
from exporter.commands.output import interruptible
from exporter.commands.output.printing import FAULT, MISUSE, complain
from exporter.foreign.terminal import escape
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Observer
from exporter.settings.account import AccountSettings
from exporter.settings.flags import flags as every_flag
from exporter.settings.loading import load_with_origins, read_file
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import ResourceList
from exporter.validation.types import format_duration
from exporter.validation.yaml_file import file_names_resolved
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of

# The time limit for listing, in timeouts of a single call.
_PATIENCE = 60
# Of more resources of a kind than this, the first are shown.
MOST_LINES = 1000
# The section and the name of each kind that discovery lists, which `found` counts.
_KINDS = {
    "dns_zone": ("dns_zones", "DNS zones"),
    "script": ("scripts", "scripts"),
    "shield_zone": ("shield_zones", "shield zones"),
}
# An account with its resources by kind; a kind is missing if it could not be listed.
Found = tuple[AccountSettings, Mapping[str, ResourceList]]


def init(config: Path | None, output: Path | None, flags: Mapping[str, str]) -> None:
    """Ask each account what it has, and write the file."""
    if output is not None and output.exists():
        complain(f"{output} is there already: remove it, or name another --output", MISUSE)
    marked = read_file(config, os.environ)
    settings, _ = load_with_origins(marked, flags, os.environ)
    if not settings.accounts:
        complain("there is no account in the configuration: EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice")
    found: list[Found] = []
    failures: list[str] = []
    for account in settings.accounts:
        lists, fault = interruptible.run(_listed(account))
        found.append((account, lists))
        if fault is not None:
            failures.append(f"{account.name}: {fault}")
    if failures and not any(lists for _, lists in found):
        complain("\n".join(failures))
    text = document(found, tuple(key for key in marked.data or {} if key != "accounts"))
    if output is None:
        click.echo(text, nl=False)
    else:
        try:
            with output.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            complain(f"{output} cannot be written: {error.strerror or error}")
        counts = [
            f"{sum(len(lists[kind].resources) for _, lists in found if kind in lists)} {words}"
            for kind, (_, words) in _KINDS.items()
        ]
        click.echo(f"{output}: {', '.join(counts)}. Next: edge-exporter check --config {output}", err=True)
    if failures:
        complain("some lists could not be read:\n" + "\n".join(failures), FAULT)


async def _listed(account: AccountSettings) -> tuple[Mapping[str, ResourceList], PlatformError | None]:
    """Return what discovery finds in an account, including what its settings exclude, and the error, if any."""
    whole = {key: type(getattr(account, key)).model_construct() for key, _ in _KINDS.values()}
    registry = Registry(Shard(0, 1))
    registry.configure(list(from_settings.account_selections(account.model_copy(update=whole))))
    target = next(iter(registry.targets("account")))
    async with aclosing(client_of(account, Observer(), 1)) as client:
        caller = client.until(time.monotonic() + _PATIENCE * account.timeout)
        polled = await COLLECTOR.result(Context(caller, registry, SYSTEM.utc()), target)
    return (polled.found.lists if polled.found is not None else {}), polled.error


def document(found: Sequence[Found], left_out: Sequence[str] = ()) -> str:
    """Return the text of the file; the keys that are left out of an earlier one are named in a comment."""
    lines = [
        "# Written by edge-exporter config init: what the key can see is polled, also what is added later.",
        "# To stop polling something, add it to exclude: a pattern of a DNS zone's name. Scripts and shield zones have",
        "# no names to exclude: set 'discover: false', and make a list 'ids' of those that are to be polled.",
        *([f"# Not carried over from the configuration: {', '.join(left_out)}."] if left_out else []),
        "accounts:",
    ]
    for account, lists in found:
        lines += _account(account, lists, is_only=len(found) == 1)
    lines += ["", "# The other settings, with their defaults.", *_defaults()]
    return "\n".join(lines) + "\n"


def _account(account: AccountSettings, lists: Mapping[str, ResourceList], *, is_only: bool) -> Iterator[str]:
    dumped = account.model_dump(mode="json", exclude_defaults=True, exclude={"base_url", "api_key"})
    given: dict[str, Any] = file_names_resolved(dumped, Path.cwd())
    yield f"  - name: {_written(given.pop('name'))}"
    yield f"    base_url: {account.base_url}"
    if account.api_key_file is None:
        # Only the key of an only account can come from a variable.
        way = "set EDGE_EXPORTER_API_KEY, or name its file" if is_only else "put it into a file, and name that"
        yield f"    # The key is not written here: {way}."
        yield f"    {'# ' if is_only else ''}api_key_file: /run/secrets/edge"
    if account.proxy != given.get("proxy"):
        yield "    # The proxy's user and password are not written here: write them in place of ***."
        yield f"    # proxy: {_written(given.pop('proxy'))}"
    if "timeout" in given:
        given["timeout"] = format_duration(account.timeout)
    sections = {section: given.pop(section, {}) for section, _ in _KINDS.values()}
    yield from (f"    {key}: {_written(value)}" for key, value in given.items())
    for kind, (section, _) in _KINDS.items():
        yield f"    {section}:"
        values = {"discover": True} | ({"exclude": []} if kind == "dns_zone" else {}) | sections[section]
        yield from (f"      {key}: {_written(value)}" for key, value in values.items())
        yield from _resources(lists.get(kind))
    limits = lists.get("rate_limit")
    if limits is not None and limits.resources:
        yield "    # rate_limits, discovered with their shield zones:"
        yield from _found(f"{{id: {limit.id}, shield_zone_id: {limit.parent}}}" for limit in limits.resources)


def _written(value: object) -> str:
    """Return a value as JSON, which YAML can read, without the characters that YAML refuses."""
    return escape(json.dumps(value, ensure_ascii=False))


def _resources(listed: ResourceList | None) -> Iterator[str]:
    if listed is None:
        yield "      # could not be listed"
        return
    number = str(len(listed.resources)) if listed.resources else "none"
    whole = "" if listed.complete else "; the list was incomplete"
    yield f"      # {number} found{whole}{':' if listed.resources else ''}"
    yield from _found(
        f"{resource.id}  # {escape(resource.name)}" if resource.name else resource.id for resource in listed.resources
    )


def _found(items: Iterable[str]) -> Iterator[str]:
    """Write what was found as comments in the form of the items of a list."""
    shown = list(islice(items, MOST_LINES + 1))
    yield from (f"      #   - {item}" for item in shown[:MOST_LINES])
    if len(shown) > MOST_LINES:
        yield f"      #   and more than the first {MOST_LINES}, which are shown"


def _defaults() -> Iterator[str]:
    written: set[tuple[str, ...]] = set()
    for flag in every_flag():
        if flag.is_of_account:
            continue
        *sections, key = map(str, flag.path)
        for depth, section in enumerate(sections):
            path = tuple(sections[: depth + 1])
            if path not in written:
                written.add(path)
                yield f"# {'  ' * depth}{section}:"
        yield f"# {'  ' * len(sections)}{key}: {flag.default}  # {flag.help}"
