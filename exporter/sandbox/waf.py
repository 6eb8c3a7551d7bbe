"""The WAF: custom rules of shield zones, and the platform's rules by plan."""

import json
from dataclasses import dataclass
from typing import Any

from exporter.sandbox.search import free_id
from exporter.sandbox.seed import seed


@dataclass(frozen=True, slots=True)
class CustomRule:
    """A custom rule of a shield zone."""

    rule_id: int
    shield_zone_id: int
    name: str
    chained: int


class Waf:
    """The account's custom rules, two for each shield zone."""

    def __init__(self, shield_zones: int) -> None:
        self.rules: dict[int, CustomRule] = {}
        for zone in range(1, shield_zones + 1):
            for place, name in enumerate(seed("names", "custom_rules")):
                self.add_rule(zone, name, 7 * zone + place, chained=(zone + 2 * place) % 4)

    def add_rule(self, shield_zone_id: int, name: str, rule_id: int | None = None, *, chained: int = 0) -> int:
        """Add a custom rule with a number of chained conditions, and return its id."""
        new_id = free_id(self.rules, rule_id)
        self.rules[new_id] = CustomRule(new_id, shield_zone_id, name, chained)
        return new_id

    def answer(self, rule: CustomRule) -> dict[str, Any]:
        """Return a custom rule as the platform sends it."""
        rule_id = rule.rule_id
        configuration = {
            **_condition(rule_id),
            "transformationTypes": [1, 8] if rule_id % 2 else [],
            "chainedRuleConditions": [_condition(rule_id + n + 1) for n in range(rule.chained)],
        }
        return {
            "id": rule_id,
            "shieldZoneId": rule.shield_zone_id,
            "userId": "4f0f4a0e-5b0f-4b60-9c4e-0d7f3a5a1c11",
            "ruleName": rule.name,
            "ruleDescription": None if rule_id % 2 else f"Custom rule {rule.name}",
            "ruleJson": json.dumps(configuration),
            "ruleConfiguration": configuration,
            "errorResponse": {"success": False, "message": None, "errorKey": None} if rule_id % 2 else None,
        }


def _condition(place: int) -> dict[str, Any]:
    variables, values = seed("waf", "variables"), seed("waf", "values")
    return {
        "variableTypes": variables[place % len(variables)],
        "value": values[place % len(values)],
        "isNegated": place % 3 == 0,
        "isRegexVariable": place % 4 == 0,
    }


def plan_segmentation() -> list[dict[str, Any]]:
    """Return the platform's rules by plan: each plan has the groups of the lower plan, and one or two more."""
    return [
        {"planValue": value, "planName": name, "rules": _rule_sets(2 + value * 2)}
        for value, name in enumerate(seed("waf", "plans"))
    ]


def _rule_sets(groups: int) -> list[dict[str, Any]]:
    fields = ("name", "code", "fileName", "mainGroup", "ruleset")
    included: dict[str, list[dict[str, Any]]] = {}
    for number, (*texts, first, rules) in enumerate(seed("waf", "groups")[:groups], start=1):
        name, ruleset = texts[0], texts[-1]
        group = {
            "id": number,
            **dict(zip(fields, texts, strict=True)),
            "description": None if number == 1 else f"Rules against: {name.lower()}",
            "rules": [{"ruleId": str(first + 10 * n), "description": f"{name} {n + 1}"} for n in range(rules)],
        }
        included.setdefault(ruleset, []).append(group)
    return [
        {"name": f"{ruleset.upper()} rules", "ruleset": ruleset, "ruleGroups": rule_groups}
        for ruleset, rule_groups in included.items()
    ]
