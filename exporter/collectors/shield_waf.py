"""Custom WAF rules, and the WAF rules that plans include (interface document, CustomWafRule, WafPlanSegmentation)."""

from exporter.collectors.collector import ACCOUNT, Label, TargetCollector, calling, own_id
from exporter.metric import Metric
from exporter.platform.api import shield
from exporter.platform.api.shield_models import CustomWafRule, PlanSegment


def _conditions(rule: CustomWafRule) -> int | None:
    if rule.rule_configuration is None:
        return None
    # The configuration itself has the fields of the first condition.
    return 1 + len(rule.rule_configuration.chained_rule_conditions or ())


CUSTOM_RULES: TargetCollector[CustomWafRule] = TargetCollector(
    name="shield_waf_custom_rules",
    polls="waf_custom_rule",
    interval=900,
    operations=(shield.CUSTOM_RULE,),
    fetch=calling(shield.CUSTOM_RULE, id=own_id),
    name_of=lambda rule: rule.rule_name,
    labels=(
        ACCOUNT,
        Label("shield_zone_id", lambda _, rule: "" if rule.shield_zone_id is None else str(rule.shield_zone_id)),
        Label("rule_id", lambda target, _: target.id),
        Label("rule", lambda target, _: target.name),
    ),
    metrics=(
        Metric("edge_shield_waf_custom_rule_info", "Name of a custom WAF rule (ruleName), polled.", value=lambda _: 1),
        Metric(
            "edge_shield_waf_custom_rule_conditions",
            "Conditions of the custom WAF rule, including chained ones (ruleConfiguration), polled.",
            value=_conditions,
        ),
    ),
)


def _plan_rules(segments: list[PlanSegment]) -> dict[tuple[str, ...], int]:
    """Return (plan, rule set) → number of rules."""
    counts: dict[tuple[str, ...], int] = {}
    for segment in segments:
        plan = segment.plan_name or ("" if segment.plan_value is None else str(segment.plan_value))
        for ruleset in segment.rules or ():
            sizes = [len(group.rules) for group in ruleset.rule_groups or () if group.rules is not None]
            # An empty list of groups means 0 rules. If no group has a list of rules, the number of rules is not known.
            if sizes or ruleset.rule_groups == []:
                key = (plan, ruleset.ruleset or ruleset.name or "")
                counts[key] = counts.get(key, 0) + sum(sizes)
    return counts


PLANS: TargetCollector[list[PlanSegment]] = TargetCollector(
    name="shield_waf_plans",
    polls="account",
    interval=3600,
    operations=(shield.PLAN_SEGMENTATION,),
    fetch=calling(shield.PLAN_SEGMENTATION),
    labels=(ACCOUNT,),
    metrics=(
        Metric(
            "edge_shield_waf_plan_rules",
            "WAF rules that a plan includes, by rule set (rules.ruleGroups.rules of the plan segmentation), polled.",
            labels=("plan", "ruleset"),
            value=_plan_rules,
        ),
    ),
)
