"""Writes the text of a configuration file: one line for each resource found, and the other settings in comments."""

import json
from collections.abc import Iterable, Iterator, Mapping

from exporter.settings.account import AccountSettings
from exporter.settings.flags import flags
from exporter.targets.target import Resource, ResourceList
from exporter.terminal import escape

# With more resources than this, the file enables discovery instead of listing them.
MOST_LINES = 1000


def document(found: Iterable[tuple[AccountSettings, Mapping[str, ResourceList]]]) -> str:
    """Return the text of the file.

    Args:
        found: each account with its resources by kind; a kind is missing if it could not be listed.
    """
    lines = [
        "# Written by edge-exporter config init: what the key can see.",
        "# To stop polling something, delete its line. 'discover: true' polls everything, also what is added later.",
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
        yield from _resources(lists.get(kind))
    limits = lists.get("rate_limit")
    if limits is not None and 0 < len(limits.resources) <= MOST_LINES:
        yield "    rate_limits:"
        yield from (f"      - {{{_limit(limit)}}}" for limit in limits.resources)


def _resources(listed: ResourceList | None) -> Iterator[str]:
    if listed is None:
        yield "      discover: true  # could not be listed"
    elif not listed.complete:
        yield f"      discover: true  # the list was incomplete; {len(listed.resources)} were found"
    elif len(listed.resources) > MOST_LINES:
        yield f"      discover: true  # {len(listed.resources)} were found, too many to list here"
    else:
        yield "      discover: false"
        yield "      ids:" if listed.resources else "      ids: []  # none were found"
        for resource in listed.resources:
            name = f"  # {escape(resource.name)}" if resource.name else ""
            yield f"        - {resource.id}{name}"


def _limit(limit: Resource) -> str:
    parts = [f"id: {limit.id}"]
    if limit.name:
        parts.append(f"name: {json.dumps(limit.name, ensure_ascii=False)}")
    if limit.parent:
        parts.append(f"shield_zone_id: {limit.parent}")
    return ", ".join(parts)


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
