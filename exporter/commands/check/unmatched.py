"""Finds what a configuration has without effect."""

from collections.abc import Iterable, Iterator, Sequence

from exporter.collectors import scripts
from exporter.collectors.catalogue import families
from exporter.commands.check.results import AccountResult
from exporter.commands.loading import loading
from exporter.commands.output.printing import counted
from exporter.settings.account import AccountSettings
from exporter.settings.model import Settings
from exporter.targets.target import ResourceList
from exporter.validation.faults import Fault, KeyPath, suggestion, written
from exporter.validation.yaml_file import MarkedFile
from exporter.wiring import from_settings

_PREFIX = "edge_"

Finding = tuple[KeyPath, str]


def idle(settings: Settings, verdicts: Iterable[AccountResult], file: MarkedFile) -> list[Fault]:
    """Return the settings that select nothing, in the order of the configuration.

    Accounts whose resources are not known are skipped. Only the file can contain such settings.
    """
    by_name = {verdict.name: verdict for verdict in verdicts}
    found: list[Finding] = []
    for number, account in enumerate(settings.accounts):
        verdict = by_name.get(account.name)
        if verdict is not None:
            found += ((("accounts", number, *path), message) for path, message in _of_account(account, verdict))
    if settings.series.allow or settings.series.deny:
        found += _of_series(settings)
    return [Fault(*file.locate(path), written(path), message) for path, message in found]


def _of_account(account: AccountSettings, verdict: AccountResult) -> Iterator[Finding]:
    zones = verdict.lists.get("dns_zone")
    if account.dns_zones.discover and zones is not None and zones.complete and zones.resources:
        number = counted(len(zones.resources), "DNS zone")
        message = f"discovery found {number}, and the domain of none matches"
        for place, pattern in enumerate(account.dns_zones.include):
            if not any(pattern.search(zone.name) for zone in zones.resources):
                yield ("dns_zones", "include", place), message
    known = _script_names(account, verdict)
    if known is None:
        return
    for name in account.scripts.monthly_budget_dollars:
        if name not in known:
            near = suggestion(name, sorted(known))
            yield ("scripts", "monthly_budget_dollars", name), _NO_SCRIPT[account.scripts.discover] + near


_NO_SCRIPT = {
    True: "no script of the account has this name or id",
    False: "no script of `ids` has this name or id, and discovery is off",
}


def _script_names(account: AccountSettings, verdict: AccountResult) -> set[str] | None:
    """Return names and ids of the polled scripts of all shards; None if not all of them are known."""
    listed = verdict.lists.get("script", ResourceList((), complete=False))
    if account.scripts.discover and not listed.complete:
        return None
    names = {script.id: script.name for script in listed.resources}
    names |= {
        one.target.id: one.target.name
        for one in verdict.tried
        if one.collector == scripts.COLLECTOR.name and one.target.name
    }
    fixed = {str(script_id) for script_id in account.scripts.ids}
    if not all(names.get(script_id) for script_id in fixed):
        return None
    polled = names.keys() if account.scripts.discover else fixed
    return {word for script_id in polled for word in (script_id, names[script_id]) if word}


def _of_series(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Return the patterns that match no family: the place of each in the configuration, and a message."""
    known = sorted(_families(settings))
    for key, patterns in (("deny", settings.series.deny), ("allow", settings.series.allow)):
        for place, pattern in enumerate(patterns):
            if not any(pattern.fullmatch(name) for name in known):
                near = _nearest(pattern.pattern, known)
                yield ("series", key, place), f"no family's whole name matches it{near}"


def _families(settings: Settings) -> set[str]:
    """Return all possible families, including the exporter's own and those of configured queries."""
    with loading():
        from prometheus_client import CollectorRegistry  # noqa: PLC0415 - for these lists alone

        from exporter import __version__  # noqa: PLC0415
        from exporter.exposition.encoding import exposed_name  # noqa: PLC0415
        from exporter.exposition.store import HEALTH  # noqa: PLC0415
        from exporter.telemetry import Telemetry  # noqa: PLC0415
    polled = families(from_settings.collectors(settings))
    own = Telemetry(CollectorRegistry(), __version__).exposed().collect()
    return {info.name for info in (*polled, *HEALTH)} | {exposed_name(metric) for metric in own}


def _nearest(pattern: str, known: Sequence[str]) -> str:
    """Suggest a family that begins with the pattern, or one that is spelt alike."""
    longer = [name for name in known if name.startswith(pattern)]
    # The common prefix of all names is left out of the comparison.
    rest = pattern.removeprefix(_PREFIX)
    alike = [name for name in known if suggestion(rest, [name.removeprefix(_PREFIX)])]
    return suggestion(pattern, [min(longer, key=len)] if longer else alike)
