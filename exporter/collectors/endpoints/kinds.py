"""The kinds of target that an endpoint can be asked for, and the labels of their series."""

from collections.abc import Mapping
from typing import Any

from exporter.collectors import dns_statistics, scripts, shield_access_lists, shield_api_guardian, shield_rate_limits
from exporter.collectors.collector import ACCOUNT, Label

ACCOUNT_KIND = "account"
# The kinds of target that are there without an endpoint, and the labels that their series have.
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
    """The labels of targets of an endpoint's own kind."""
    return (ACCOUNT, Label(f"{label}_id", lambda target, _: target.id), Label(label, lambda target, _: target.name))
