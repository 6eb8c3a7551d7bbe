"""The section that sets thresholds of alerts for some targets, and the alerts that have a threshold."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from exporter.validation.section import Section
from exporter.validation.types import PatternField, Text

# Each shipped alert whose threshold can be set for some targets, and the kind of its targets; empty: all kinds.
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


class ThresholdSettings(Section):
    """The threshold of an alert for some targets, in place of the threshold in the rule."""

    alert: Literal[*ALERTS] = Field(description="The alert.")  # type: ignore[valid-type] # the names are above
    match: PatternField = Field(description="A pattern; it matches any part of a target's name.")
    value: float = Field(
        ge=0, allow_inf_nan=False, description="The threshold; if several entries match, the first applies."
    )
    account: Text | None = Field(default=None, description="The account of the targets; null: all accounts.")
