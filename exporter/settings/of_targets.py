"""The settings that give targets labels, and single targets another threshold of an alert."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import BeforeValidator, Field

from exporter.collectors.catalogue import families
from exporter.validation.section import Section, expected, refused
from exporter.validation.types import PatternField, Text, parse_label_name

MOST_LABELS = 8
# Each shipped alert with a threshold for single targets, and the kind of target it is about; empty: all in accounts.
ALERTS: Mapping[str, str] = {
    "EdgeDnsQueriesDropped": "dns_zone",
    "EdgeDnsQueriesSurge": "dns_zone",
    "EdgeDnsScanFailed": "dns_zone",
    "EdgeDnsStatisticsStalled": "dns_zone",
    "EdgeLearningModeLeftOn": "shield_zone",
    "EdgeRateLimitBlocking": "rate_limit",
    "EdgeRateLimitBreachSurge": "rate_limit",
    "EdgeScriptRequestSurge": "script",
    "EdgeScriptRequestsHalved": "script",
    "EdgeTargetFailing": "",
}
# The labels of Prometheus, of the shipped rules, and of the exporter's own metrics.
_OTHERS = (
    "alert alertname alertstate area cause code collector family fault field instance job le limit name operation "
    "pod present protection python reason resource severity shard shards target task version"
)


@cache
def _ours() -> frozenset[str]:
    return frozenset(_OTHERS.split()).union(*(info.labels for info in families()))


def parse_own_label(value: object) -> str:
    """Validate the name of a label that the configuration gives targets."""
    name = parse_label_name(value)
    if name in _ours():
        raise refused("is a label of the exporter or of its alerts; expected another name")
    return name


def parse_alert(value: object) -> str:
    """Validate the name of an alert that has a threshold for single targets."""
    if value not in ALERTS:
        raise expected(f"an alert with a threshold for single targets: {', '.join(ALERTS)}")
    return str(value)


Labels = Mapping[Annotated[str, BeforeValidator(parse_own_label)], Text]


class TargetLabelsSettings(Section):
    """Labels of the targets whose names match."""

    match: PatternField = Field(description="A pattern of which the target's name contains a match.")
    labels: Labels = Field(description="Their labels; of several entries with a label, the first counts.")


class ThresholdSettings(Section):
    """A threshold of an alert for single targets, in place of the alert's own."""

    alert: Annotated[str, BeforeValidator(parse_alert)] = Field(description="The alert.")
    match: PatternField = Field(description="A pattern of which the target's name contains a match.")
    value: float = Field(ge=0, allow_inf_nan=False, description="The threshold; of several entries the first counts.")
    account: Text | None = Field(default=None, description="The only account whose targets it is for.")
