"""Writes the text of a configuration file: what is discovered, and the other settings, in comments."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from exporter.foreign.terminal import escape
from exporter.settings.account import AccountSettings
from exporter.settings.flags import flags
from exporter.targets.target import ResourceList

# Of more resources of a kind than this, the first are shown.
MOST_LINES = 1000


def document(found: Iterable[tuple[AccountSettings, Mapping[str, ResourceList]]]) -> str:
    """Return the text of the file.

    Args:
        found: each account with its resources by kind; a kind is missing if it could not be listed.
    """
    lines = [
        "# Written by edge-exporter config init: what the key can see is polled, also what is added later.",
        "# To stop polling something, add it to exclude: a pattern of a DNS zone's name. Scripts and shield zones have",
        "# no names to exclude: set 'discover: false', and make a list 'ids' of those that are to be polled.",
        "accounts:",
    ]
    for account, lists in found:
        lines += _account(account, lists)
    lines += ["", "# The other settings, with their defaults.", *_defaults()]
    return "\n".join(lines) + "\n"


def _account(account: AccountSettings, lists: Mapping[str, ResourceList]) -> Iterator[str]:
    yield f"  - name: {json.dumps(account.name, ensure_ascii=False)}"
    yield f"    base_url: {account.base_url}"
    if account.api_key_file is not None:
        yield f"    api_key_file: {json.dumps(str(account.api_key_file.absolute()), ensure_ascii=False)}"
    else:
        yield "    # The key is not written here: EDGE_EXPORTER_API_KEY holds it, or name its file."
        yield "    # api_key_file: /run/secrets/edge"
    if account.auth != "access_key":
        yield f"    auth: {account.auth}"
    for section, kind in (("dns_zones", "dns_zone"), ("scripts", "script"), ("shield_zones", "shield_zone")):
        yield f"    {section}:"
        yield "      discover: true"
        if kind == "dns_zone":
            yield "      exclude: []"
        yield from _resources(lists.get(kind))
    limits = lists.get("rate_limit")
    if limits is not None and limits.resources:
        yield "    # rate_limits, discovered with their shield zones:"
        yield from _found(f"{{id: {limit.id}, shield_zone_id: {limit.parent}}}" for limit in limits.resources)


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
    for flag in flags():
        if flag.is_of_account:
            continue
        *sections, key = map(str, flag.path)
        for depth, section in enumerate(sections):
            path = tuple(sections[: depth + 1])
            if path not in written:
                written.add(path)
                yield f"# {'  ' * depth}{section}:"
        yield f"# {'  ' * len(sections)}{key}: {flag.default}  # {flag.help}"
