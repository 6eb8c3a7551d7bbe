"""Serves the labels, thresholds of alerts, and monthly budgets of scripts that the settings define for targets."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from exporter.exposition.store import ALERT_THRESHOLD, TARGET_LABELS, Store
from exporter.label_values import label_value
from exporter.metric import Family, Sample
from exporter.settings.account import AccountSettings
from exporter.settings.model import Settings
from exporter.settings.targets import ALERTS, ThresholdSettings
from exporter.targets.registry import Registry
from exporter.targets.target import PollKey, Target, TargetKey
from exporter.telemetry import Telemetry

# Stands in place of a collector's name, for families that come from the configuration and not from a poll.
_CONFIGURATION = "configuration"
# The most targets whose labels and thresholds one call of `show` sets, because more would delay the event loop.
_AT_ONCE = 1000


@dataclass(slots=True, eq=False)
class LabelsAndThresholds:
    """Serves the labels and thresholds of targets, and the budgets of scripts."""

    registry: Registry
    store: Store
    telemetry: Telemetry
    # The target and the settings from which the served labels and thresholds were made.
    _served: dict[TargetKey, tuple[Target, Settings]] = field(default_factory=dict)

    def show(self, settings: Settings) -> None:
        """Serve the labels, thresholds and budgets that these settings define for the polled targets.

        A call sets the labels and thresholds of at most `_AT_ONCE` targets; later calls continue with the next ones.
        """
        have_labels = any(one.labels or one.target_labels for one in settings.accounts)
        polled = self.registry.by_key if have_labels or settings.thresholds else {}
        gone = [key for key in self._served if key not in polled]
        for key in gone:
            self._replace(key, ())
            del self._served[key]
        changed = [target for target in polled.values() if not self._is_served(target, settings)]
        for target in changed[:_AT_ONCE]:
            self._replace(target.key, _families(settings, target))
            self._served[target.key] = (target, settings)
        self._show_budgets(settings)

    def _is_served(self, target: Target, settings: Settings) -> bool:
        served_target, served_settings = self._served.get(target.key, (None, None))
        # A renamed target is a new object, and a reload creates a new settings object.
        return served_target is target and served_settings is settings

    def _replace(self, key: TargetKey, families: tuple[Family, ...]) -> None:
        self.store.change(PollKey(key, _CONFIGURATION), families, (TARGET_LABELS.name, ALERT_THRESHOLD.name))

    def _show_budgets(self, settings: Settings) -> None:
        # For each of the two gauges: label values → value.
        served: dict[tuple[str, ...], float] = {}
        unmatched: dict[tuple[str, ...], bool] = {}
        for account in settings.accounts:
            budgets = account.scripts.monthly_budget_dollars
            scripts = self.registry.polled(account.name, "script").values()
            served |= _served_budgets(account.name, budgets, scripts)
            # Until the list is complete and all names are known, each budget may still match a script.
            if self.registry.is_known_whole(account.name, "script") and all(script.name for script in scripts):
                unmatched |= _unmatched_budgets(account.name, budgets, scripts)
        self.telemetry.show(self.telemetry.script_budget, served)
        self.telemetry.show(self.telemetry.script_budget_unmatched, unmatched)


def _served_budgets(
    account: str, budgets: Mapping[str, float], scripts: Iterable[Target]
) -> dict[tuple[str, ...], float]:
    served: dict[tuple[str, ...], float] = {}
    for script in scripts:
        # A budget for the name has priority over one for the id.
        budget = budgets.get(script.name, budgets.get(script.id))
        if budget is not None:
            served[account, script.id, label_value(script.name)] = budget
    return served


def _unmatched_budgets(
    account: str, budgets: Iterable[str], scripts: Collection[Target]
) -> dict[tuple[str, ...], bool]:
    """Return account and key of a budget → whether the budget matches no script of this shard.

    A budget matches no script of the account if the budget is unmatched in every shard.
    """
    ids_and_names = {script.id for script in scripts} | {script.name for script in scripts}
    return {(account, key): key not in ids_and_names for key in budgets}


def _families(settings: Settings, target: Target) -> tuple[Family, ...]:
    account = next((one for one in settings.accounts if one.name == target.account), None)
    if account is None:
        # The target belongs to a database.
        return ()
    account_name, target_label = label_value(target.account), label_value(target.key.label)
    families = []
    if labels := _labels_of(target, account):
        # Sorted, so that the order of the labels does not depend on the entries that have set them.
        names, values = zip(*sorted(labels.items()), strict=True)
        info = replace(TARGET_LABELS, labels=(*TARGET_LABELS.labels, *names))
        families.append(Family(info, (Sample((account_name, target_label, *values), 1.0),)))
    if thresholds := _thresholds_of(target, settings.thresholds):
        samples = (Sample((account_name, alert, target_label), value) for alert, value in thresholds.items())
        families.append(Family(ALERT_THRESHOLD, tuple(samples)))
    return tuple(families)


def _labels_of(target: Target, account: AccountSettings) -> dict[str, str]:
    """Return label → value: of the first matching entry with the label or, if there is none, of the account."""
    labels = dict(account.labels)
    for entry in reversed(account.target_labels):
        if entry.match.search(target.name):
            labels |= entry.labels
    return labels


def _thresholds_of(target: Target, thresholds: Iterable[ThresholdSettings]) -> dict[str, float]:
    """Return alert → threshold; of several thresholds of an alert, the first that matches the target counts."""
    found: dict[str, float] = {}
    for one in thresholds:
        is_for_account = one.account is None or one.account == target.account
        # The kind of an alert is empty if the alert is about all kinds of targets.
        is_for_kind = ALERTS[one.alert] in ("", target.kind)
        if is_for_account and is_for_kind and one.match.search(target.name):
            found.setdefault(one.alert, one.value)
    return found
