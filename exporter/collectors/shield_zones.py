"""Shield zones: one list call for all of an account (interface document, ShieldZone)."""

from dataclasses import dataclass

from exporter.collectors.collector import ACCOUNT, Context, Item, Label, ListCollector, Listing, enum_samples
from exporter.metric import Metric
from exporter.platform.api import shield
from exporter.platform.api.shield import ZoneListing
from exporter.platform.api.shield_models import DDOS_SENSITIVITY, EXECUTION_MODE, PLAN, ShieldZone
from exporter.platform.errors import WrongShape
from exporter.platform.operation import Answer
from exporter.platform.wire import known, timestamp
from exporter.targets.target import Target, TargetKey


@dataclass(frozen=True, slots=True)
class NamedZone:
    """A shield zone, and the name of its pull zone, which is not part of the zone's own answer."""

    zone: ShieldZone
    pull_zone: str


def _modes(named: NamedZone) -> dict[tuple[str, ...], float]:
    engines = {"waf": named.zone.waf_execution_mode, "ddos": named.zone.ddos_execution_mode}
    return {
        (engine, mode): share
        for engine, value in engines.items()
        for mode, share in enum_samples(value, EXECUTION_MODE).items()
    }


def _waf_rules(named: NamedZone) -> dict[str, int | None]:
    lists = {
        "disabled": named.zone.waf_disabled_rules,
        "log_only": named.zone.waf_log_only_rules,
        "custom": named.zone.waf_custom_rule_order,
    }
    return {state: None if rules is None else len(rules) for state, rules in lists.items()}


def _features(named: NamedZone) -> dict[str, bool | None]:
    return {
        "request_header_logging": named.zone.waf_request_header_logging_enabled,
        "request_body_logging": named.zone.request_body_logging_enabled,
        "realtime_threat_intelligence": named.zone.waf_realtime_threat_intelligence_enabled,
        "whitelabel_response_pages": named.zone.whitelabel_response_pages,
    }


def _info(named: NamedZone) -> dict[tuple[str, ...], int]:
    pull_zone_id = named.zone.pull_zone_id
    plan = known(named.zone.plan_type, PLAN)
    return {("" if pull_zone_id is None else str(pull_zone_id), named.pull_zone, plan or ""): 1}


async def _fetch(context: Context, target: Target) -> Answer[Listing[ZoneListing, NamedZone]]:
    answer = await shield.zones(context.caller)
    items: list[Item[NamedZone]] = []
    for zone_id, zone in answer.value.zones.items():
        pull_zone_id = zone.pull_zone_id
        name = (
            ""
            if pull_zone_id is None
            else context.names.name_of(TargetKey.of(target.account, "cdn", str(pull_zone_id)))
        )
        # A shield zone is named after its pull zone; the name is remembered like that of any target.
        named = context.names.learn(Target(target.account, "shield_zone", str(zone_id)), name)
        items.append(Item(str(zone_id), NamedZone(zone, named.name)))
    items.extend(
        Item(str(zone_id), error=WrongShape(f"the zone's item has another shape than documented: {fault}"))
        for zone_id, fault in answer.value.unusable.items()
    )
    return Answer(Listing(answer.value, tuple(items)), answer.date, b"")


COLLECTOR: ListCollector[ZoneListing, NamedZone] = ListCollector(
    name="shield_zones",
    polls="account",
    interval=300,
    operations=(shield.ZONES,),
    fetch=_fetch,
    labels=(ACCOUNT,),
    metrics=(
        Metric(
            "edge_shield_zones",
            "Shield zones of the account (page.totalCount), polled.",
            value=lambda listing: listing.total,
        ),
    ),
    item_kind="shield_zone",
    item_labels=(ACCOUNT, Label("shield_zone_id", lambda target, _: target.id)),
    item_metrics=(
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
            unit="seconds",
            value=lambda named: timestamp(named.zone.learning_mode_until),
        ),
        Metric(
            "edge_shield_zone_execution_mode",
            "What the engine does with what it finds (wafExecutionMode, dDoSExecutionMode), polled: 1 for the "
            "mode it is in, 0 for the others.",
            labels=("engine", "mode"),
            value=_modes,
        ),
        Metric(
            "edge_shield_zone_ddos_sensitivity",
            "Sensitivity of the DDoS shield (dDoSShieldSensitivity), polled: 1 for the level it is at, 0 for the "
            "others.",
            labels=("level",),
            value=lambda named: enum_samples(named.zone.ddos_shield_sensitivity, DDOS_SENSITIVITY),
        ),
        Metric(
            "edge_shield_zone_waf_rules",
            "WAF rules by what was done with them (wafDisabledRules, wafLogOnlyRules, wafCustomRuleOrder), polled.",
            labels=("state",),
            value=_waf_rules,
        ),
        Metric(
            "edge_shield_zone_rules_limit",
            "How many rules the plan allows (rateLimitRulesLimit, customWafRulesLimit), polled.",
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
            value=_features,
        ),
    ),
)
