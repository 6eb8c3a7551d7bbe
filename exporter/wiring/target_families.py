"""Creates the families that show what the settings say of a target: its labels, and thresholds of alerts."""

from dataclasses import replace

from exporter.exposition.store import ALERT_THRESHOLD, TARGET_LABELS
from exporter.label_values import label_value
from exporter.metric import Family, Sample
from exporter.settings.model import Settings
from exporter.settings.thresholds import ALERTS
from exporter.targets.target import Target


def has_target_families(settings: Settings) -> bool:
    """Return whether the settings give any target labels or thresholds."""
    return bool(settings.thresholds) or any(one.labels or one.target_labels for one in settings.accounts)


def target_families(settings: Settings, target: Target) -> tuple[Family, ...]:
    """Return the families of a target of an account, by its present name; of several settings the first counts."""
    account = next((one for one in settings.accounts if one.name == target.account), None)
    if account is None:
        return ()
    labels, thresholds = dict[str, str](), dict[str, float]()
    for given in (*(one.labels for one in account.target_labels if one.match.search(target.name)), account.labels):
        labels = {**given, **labels}
    for one in settings.thresholds:
        is_meant = one.account in (None, target.account) and ALERTS[one.alert] in ("", target.kind)
        if is_meant and one.match.search(target.name):
            thresholds.setdefault(one.alert, one.value)
    name, label = label_value(target.account), label_value(target.key.label)
    families = []
    if labels:
        info = replace(TARGET_LABELS, labels=(*TARGET_LABELS.labels, *sorted(labels)))
        families.append(Family(info, (Sample((name, label, *(labels[key] for key in sorted(labels))), 1.0),)))
    if thresholds:
        samples = (Sample((name, alert, label), value) for alert, value in thresholds.items())
        families.append(Family(ALERT_THRESHOLD, tuple(samples)))
    return tuple(families)
