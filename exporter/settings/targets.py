"""The settings of targets that are chosen by their names: labels, and thresholds of alerts."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from exporter.collectors.catalogue import families
from exporter.validation.section import Section
from exporter.validation.types import PatternField, Text, parse_label_name

# The labels of Prometheus, of the shipped rules, and of the metrics about the exporter itself.
_OTHER_LABELS = (
    "alert alertname alertstate area cause code collector family fault field instance job le limit name operation "
    "pod present protection python reason resource severity shard shards target task version"
)
_TAKEN = frozenset(_OTHER_LABELS.split()).union(*(info.labels for info in families()))

# Shipped alert whose threshold can be set for some targets → the kind of the targets; empty for all kinds.
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


def parse_own_label(value: str) -> str:
    """Validate the name of a configured label of targets; raises ValueError if the name is wrong or taken."""
    name = parse_label_name(value)
    if name in _TAKEN:
        raise ValueError("is used by Prometheus, the exporter or the shipped alerts; expected another name")
    return name


Labels = Annotated[Mapping[Annotated[str, AfterValidator(parse_own_label)], Text], Field(max_length=8)]


class TargetLabelsSettings(Section):
    """Labels of the targets whose names match a pattern."""

    match: PatternField = Field(description="A pattern for any part of a target's name.")
    labels: Labels = Field(
        description="The targets' labels; if several matching entries set the same label, the first applies."
    )


class ThresholdSettings(Section):
    """The threshold of an alert for some targets, in place of the threshold in the rule."""

    alert: Literal[*ALERTS] = Field(description="The name of the alert.")  # type: ignore[valid-type] # the names are above
    match: PatternField = Field(description="A pattern for any part of a target's name.")
    value: float = Field(
        ge=0, allow_inf_nan=False, description="The threshold; if several entries of an alert match, the first applies."
    )
    account: Text | None = Field(default=None, description="The account of the targets; null: all accounts.")
