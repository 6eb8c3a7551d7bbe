"""The kinds of targets that an endpoint can have, and the labels of their series."""

from collections.abc import Mapping
from typing import Any

from exporter.collectors import dns_statistics, scripts, shield_access_lists, shield_api_guardian, shield_rate_limits
from exporter.collectors.collector import ACCOUNT, Label

ACCOUNT_KIND = "account"
# The built-in kinds of targets, and the labels of their series.
KIND_LABELS: Mapping[str, tuple[Label[Any], ...]] = {
    collector.polls: collector.labels
    for collector in (
        dns_statistics.COLLECTOR,
        scripts.COLLECTOR,
        shield_api_guardian.COLLECTOR,
        shield_rate_limits.COLLECTOR,
        shield_access_lists.COLLECTOR,
    )
}


def own_labels(label: str) -> tuple[Label[Any], ...]:
    """Return the labels of a kind that an endpoint defines; `label` is the first part of their names."""
    return (ACCOUNT, Label(f"{label}_id", lambda target, _: target.id), Label(label, lambda target, _: target.name))
