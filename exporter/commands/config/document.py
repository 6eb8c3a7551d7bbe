"""A configuration file as text: what was found, one line each, and every other setting in comments."""

import json
from collections.abc import Iterable, Iterator, Mapping

from exporter.settings.account import AccountSettings
from exporter.settings.flags import flags
from exporter.targets.target import Resource, ResourceList
from exporter.terminal import escape

# More lines than these help no one: discovery finds them.
MOST_LINES = 1000


def document(found: Iterable[tuple[AccountSettings, Mapping[str, ResourceList]]]) -> str:
    """The file's text.

    Args:
        found: each account with what was listed of it, by kind; a kind that is missing could not be listed.
    """
    lines = [
        "# Written by edge-exporter config init: what the key can see.",
        "# Delete a line, or put a '#' before it, and it is not polled. 'discover: true' polls all that there is, also",
        "# what is added later.",
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
    elif not listed.complete or len(listed.resources) > MOST_LINES:
        yield f"      discover: true  # {len(listed.resources)} were listed, too many to name, or not all there are"
    else:
        yield "      discover: false"
        yield "      ids:" if listed.resources else "      ids: []  # there are none"
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
    above: list[str] = []
    for flag in flags():
        if flag.is_of_account:
            continue
        *steps, key = map(str, flag.path)
        shared = 0
        while shared < min(len(steps), len(above)) and steps[shared] == above[shared]:
            shared += 1
        yield from (f"# {'  ' * depth}{steps[depth]}:" for depth in range(shared, len(steps)))
        yield f"# {'  ' * len(steps)}{key}: {flag.default}  # {flag.help}"
        above = steps
