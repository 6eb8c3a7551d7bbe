"""Finds names and patterns of a configuration that select nothing, and are therefore likely misspelt."""

from collections.abc import Iterable, Iterator

from exporter.collectors import scripts
from exporter.commands.check.results import AccountResult
from exporter.commands.loading import loading
from exporter.commands.output.printing import counted
from exporter.settings.account import AccountSettings
from exporter.settings.faults import Fault, KeyPath, suggestion, written
from exporter.settings.model import Settings
from exporter.settings.yaml_file import MarkedFile
from exporter.targets.target import ResourceList

Finding = tuple[KeyPath, str]


def idle(settings: Settings, verdicts: Iterable[AccountResult], file: MarkedFile) -> list[Fault]:
    """Return the settings that select nothing, in the order of the configuration.

    Args:
        settings: the configuration.
        verdicts: the results of a check; accounts whose resources are not known are skipped.
        file: the configuration file, which alone can contain such settings.
    """
    by_name = {verdict.name: verdict for verdict in verdicts}
    found: list[Finding] = []
    for number, account in enumerate(settings.accounts):
        verdict = by_name.get(account.name)
        if verdict is not None:
            found += ((("accounts", number, *path), message) for path, message in _of_account(account, verdict))
    if settings.series.allow or settings.series.deny:
        with loading():
            from exporter.commands.check.unmatched_series import of_series  # noqa: PLC0415 - needs every family there is
        found += of_series(settings)
    return [Fault(file.source, file.line(path), written(path), message) for path, message in found]


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
