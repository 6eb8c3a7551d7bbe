"""Shield zones: one list contains all zones of an account (interface document, ShieldZone)."""

from dataclasses import dataclass
from typing import Any

from exporter.collectors.collector import (
    Collector,
    Context,
    Outcome,
    PollResult,
    describe_families,
    enum_samples,
    identity,
    measure,
)
from exporter.collectors.discovery import POLLED_SHIELD_ZONES
from exporter.label_values import enum_name, label_value
from exporter.metric import FamilyInfo, Metric
from exporter.platform.api import shield
from exporter.platform.api.shield import ZoneListing
from exporter.platform.api.shield_models import DDOS_SENSITIVITY, EXECUTION_MODE, PLAN, ShieldZone
from exporter.platform.errors import WrongShape
from exporter.platform.operation import Operation
from exporter.platform.wire import timestamp
from exporter.targets.target import Target, TargetKey


@dataclass(frozen=True, slots=True)
class NamedZone:
    """A shield zone, and the last known name of its pull zone (empty if unknown)."""

    zone: ShieldZone
    pull_zone: str


def _modes(named: NamedZone) -> dict[tuple[str, ...], float]:
    """Return (engine, mode) → 1 for the engine's current mode, 0 for other modes."""
    modes: dict[tuple[str, ...], float] = {}
    for engine, current in (("waf", named.zone.waf_execution_mode), ("ddos", named.zone.ddos_execution_mode)):
        for mode, is_current in enum_samples(current, EXECUTION_MODE).items():
            modes[engine, mode] = is_current
    return modes


def _waf_rules(named: NamedZone) -> dict[str, int | None]:
    lists = {
        "disabled": named.zone.waf_disabled_rules,
        "log_only": named.zone.waf_log_only_rules,
        "custom": named.zone.waf_custom_rule_order,
    }
    return {state: None if rules is None else len(rules) for state, rules in lists.items()}


def _info(named: NamedZone) -> dict[tuple[str, ...], int]:
    pull_zone_id = named.zone.pull_zone_id
    plan = enum_name(named.zone.plan_type, PLAN)
    return {("" if pull_zone_id is None else str(pull_zone_id), named.pull_zone, plan or ""): 1}


_ACCOUNT_METRICS: tuple[Metric[ZoneListing], ...] = (
    Metric(
        "edge_shield_zones",
        "Shield zones of the account (page.totalCount), polled.",
        value=lambda listing: listing.total,
    ),
)
_ZONE_METRICS: tuple[Metric[NamedZone], ...] = (
    Metric(
        "edge_shield_zone_info",
        "The shield zone's pull zone and plan (pullZoneId, planType; the pull zone's name from search), polled.",
        labels=("pull_zone_id", "pull_zone", "plan"),
        value=_info,
    ),
    Metric(
        "edge_shield_zone_waf_enabled",
        "Whether the WAF is on (wafEnabled), polled.",
        value=lambda named: named.zone.waf_enabled,
    ),
    Metric(
        "edge_shield_zone_learning_mode",
        "Whether the WAF is in learning mode (learningMode), polled.",
        value=lambda named: named.zone.learning_mode,
    ),
    Metric(
        "edge_shield_zone_learning_mode_until_timestamp_seconds",
        "When learning mode ends (learningModeUntil), polled.",
        value=lambda named: timestamp(named.zone.learning_mode_until),
    ),
    Metric(
        "edge_shield_zone_execution_mode",
        "Mode of the engine, such as log or block (wafExecutionMode, dDoSExecutionMode), polled: 1 for the "
        "current mode, 0 for the others.",
        labels=("engine", "mode"),
        value=_modes,
    ),
    Metric(
        "edge_shield_zone_ddos_sensitivity",
        "Sensitivity of the DDoS shield (dDoSShieldSensitivity), polled: 1 for the current level, 0 for the others.",
        labels=("level",),
        value=lambda named: enum_samples(named.zone.ddos_shield_sensitivity, DDOS_SENSITIVITY),
    ),
    Metric(
        "edge_shield_zone_waf_rules",
        "Disabled, log-only and custom WAF rules of the zone (wafDisabledRules, wafLogOnlyRules, wafCustomRuleOrder), "
        "polled.",
        labels=("state",),
        value=_waf_rules,
    ),
    Metric(
        "edge_shield_zone_rules_limit",
        "Highest number of rules that the plan allows (rateLimitRulesLimit, customWafRulesLimit), polled.",
        labels=("rule_kind",),
        value=lambda named: {
            "rate_limit": named.zone.rate_limit_rules_limit,
            "custom_waf": named.zone.custom_waf_rules_limit,
        },
    ),
    Metric(
        "edge_shield_zone_feature_enabled",
        "Whether a feature is on (wafRequestHeaderLoggingEnabled, requestBodyLoggingEnabled, "
        "wafRealtimeThreatIntelligenceEnabled, whitelabelResponsePages), polled.",
        labels=("feature",),
        value=lambda named: {
            "request_header_logging": named.zone.waf_request_header_logging_enabled,
            "request_body_logging": named.zone.request_body_logging_enabled,
            "realtime_threat_intelligence": named.zone.waf_realtime_threat_intelligence_enabled,
            "whitelabel_response_pages": named.zone.whitelabel_response_pages,
        },
    ),
)
_ACCOUNT_FAMILIES = describe_families(identity(), _ACCOUNT_METRICS)
_ZONE_FAMILIES = describe_families(identity("shield_zone_id"), _ZONE_METRICS)


class ShieldZonesCollector(Collector):
    """Lists the shield zones of an account; if the item of one zone is invalid, the other zones are still read."""

    name = "shield_zones"
    polls = "account"
    every_shard = True
    interval = 300
    operations: tuple[Operation[Any], ...] = (shield.ZONES,)
    families: tuple[FamilyInfo, ...] = (*_ACCOUNT_FAMILIES, *_ZONE_FAMILIES)
    kinds = ("account", "shield_zone")

    def families_of(self, kind: str, _target_id: str) -> tuple[FamilyInfo, ...]:
        """Return the families of an account or, for other kinds, the families of a shield zone."""
        return _ACCOUNT_FAMILIES if kind == self.polls else _ZONE_FAMILIES

    def wants(self, target: Target) -> bool:
        """Return whether shield zones of the account are configured or discovered."""
        return POLLED_SHIELD_ZONES in target.watched

    async def poll(self, context: Context, target: Target) -> PollResult:
        """Request the list, and return the outcomes of the account and of the zones in the list."""
        answer = await shield.list_zones(context.caller)
        families, _ = measure((label_value(target.account),), _ACCOUNT_FAMILIES, _ACCOUNT_METRICS, answer.value)
        outcomes = [Outcome(target, families)]
        for zone_id, zone in answer.value.zones.items():
            outcomes.append(_outcome_of(context, target.account, str(zone_id), zone))
        for zone_id, fault in answer.value.unusable.items():
            unusable_zone = context.registry.named(Target(target.account, "shield_zone", str(zone_id)))
            error = WrongShape(f"the zone's item in the list has another shape than documented: {fault}")
            outcomes.append(Outcome(unusable_zone, error=error))
        return PollResult(tuple(outcomes), answer.date)


def _outcome_of(context: Context, account: str, zone_id: str, zone: ShieldZone) -> Outcome:
    target = Target(account, "shield_zone", zone_id)
    # A shield zone has no name of its own; the name of its pull zone is used.
    if zone.pull_zone_id is not None:
        pull_zone_name = context.registry.name_of(TargetKey.of(account, "cdn", str(zone.pull_zone_id)))
        if pull_zone_name:
            context.registry.record_name(target.key, pull_zone_name)
    target = context.registry.named(target)
    labels = (label_value(account), zone_id)
    families, _ = measure(labels, _ZONE_FAMILIES, _ZONE_METRICS, NamedZone(zone, target.name))
    return Outcome(target, families)


COLLECTOR = ShieldZonesCollector()
