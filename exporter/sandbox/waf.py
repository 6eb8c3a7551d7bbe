"""The WAF: custom rules of shield zones, and the platform's rules by plan."""

import json
from dataclasses import dataclass
from typing import Any, Final

_VARIABLES: Final = (
    {"REQUEST_HEADERS": "User-Agent"},
    {"REQUEST_URI": ""},
    {"ARGS": "q", "ARGS_GET_NAMES": ""},
    {"GEO": "COUNTRY_CODE"},
    {"REQUEST_METHOD": ""},
)
_VALUES: Final = ("badbot", "/wp-admin", "select", "XX", "TRACE")
_NAMES: Final = ("block-bad-bots", "guard-admin")
_PLANS: Final = ("Basic", "Advanced", "Business", "Enterprise")
_GROUPS: Final = (
    ("SQL injection", "SQLI", "REQUEST-942-SQLI", "Injection", "owasp", 942_100, 6),
    ("Cross-site scripting", "XSS", "REQUEST-941-XSS", "Injection", "owasp", 941_100, 5),
    ("Remote code execution", "RCE", "REQUEST-932-RCE", "Execution", "owasp", 932_100, 4),
    ("Protocol attacks", "PROTOCOL", "REQUEST-921-PROTOCOL", "Protocol", "owasp", 921_100, 3),
    ("Known exploits", "EXPLOITS", "PLATFORM-100-EXPLOITS", "Exploits", "platform", 100_100, 8),
    ("Bad reputation", "REPUTATION", "PLATFORM-200-REPUTATION", "Reputation", "platform", 200_100, 2),
)


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
        self._rules: dict[int, CustomRule] = {}
        for zone in range(1, shield_zones + 1):
            for place, name in enumerate(_NAMES):
                self.add_rule(zone, name, 7 * zone + place, chained=(zone + 2 * place) % 4)

    def rules(self) -> list[CustomRule]:
        """Return all custom rules."""
        return list(self._rules.values())

    def add_rule(self, shield_zone_id: int, name: str, rule_id: int | None = None, *, chained: int = 0) -> int:
        """Add a custom rule with a number of chained conditions, and return its id."""
        new_id = max([*self._rules, 0]) + 1 if rule_id is None else rule_id
        if new_id in self._rules:
            raise ValueError(f"{new_id} already exists")
        self._rules[new_id] = CustomRule(new_id, shield_zone_id, name, chained)
        return new_id

    def remove_rule(self, rule_id: int) -> None:
        """Remove a custom rule."""
        del self._rules[rule_id]

    def find(self, rule_id: int) -> CustomRule | None:
        """Return a custom rule; None if there is none."""
        return self._rules.get(rule_id)

    def answer(self, rule: CustomRule) -> dict[str, Any]:
        """Return a custom rule as the platform sends it."""
        rule_id = rule.rule_id
        configuration = {
            **_condition(rule_id),
            "transformationTypes": [1, 8] if rule_id % 2 else [],
            "chainedRuleConditions": [_condition(rule_id + n + 1) for n in range(rule.chained)],
        }
        defaulted = {"success": False, "message": None, "errorKey": None}
        return {
            "id": rule_id,
            "shieldZoneId": rule.shield_zone_id,
            "userId": "4f0f4a0e-5b0f-4b60-9c4e-0d7f3a5a1c11",
            "ruleName": rule.name,
            "ruleDescription": None if rule_id % 2 else f"Custom rule {rule.name}",
            "ruleJson": json.dumps(configuration),
            "ruleConfiguration": configuration,
            "errorResponse": defaulted if rule_id % 2 else None,
        }


def missing_rule() -> dict[str, Any]:
    """Return the platform's answer for a missing rule: an object of zeros with an error."""
    return {
        "id": 0,
        "shieldZoneId": 0,
        "userId": None,
        "ruleName": None,
        "ruleDescription": None,
        "ruleJson": None,
        "ruleConfiguration": None,
        "errorResponse": {
            "statusCode": 202,
            "success": False,
            "message": "The WAF rule was not found, or is not yours.",
            "errorKey": "not_found_or_unauthorised_access.waf_rule",
        },
    }


def _condition(place: int) -> dict[str, Any]:
    return {
        "variableTypes": _VARIABLES[place % len(_VARIABLES)],
        "value": _VALUES[place % len(_VALUES)],
        "isNegated": place % 3 == 0,
        "isRegexVariable": place % 4 == 0,
    }


def plan_segmentation() -> list[dict[str, Any]]:
    """Return the platform's rules by plan: each plan has the groups of the lower plan, and one or two more."""
    return [
        {"planValue": value, "planName": name, "rules": _rule_sets(min(len(_GROUPS), 2 + value * 2))}
        for value, name in enumerate(_PLANS)
    ]


def _rule_sets(groups: int) -> list[dict[str, Any]]:
    included: dict[str, list[dict[str, Any]]] = {}
    for number, (name, code, file_name, main_group, ruleset, first, rules) in enumerate(_GROUPS[:groups], start=1):
        group = {
            "id": number,
            "name": name,
            "code": code,
            "fileName": file_name,
            "mainGroup": main_group,
            "ruleset": ruleset,
            "description": None if number == 1 else f"Rules against: {name.lower()}",
            "rules": [{"ruleId": str(first + 10 * n), "description": f"{name} {n + 1}"} for n in range(rules)],
        }
        included.setdefault(ruleset, []).append(group)
    return [
        {"name": f"{ruleset.upper()} rules", "ruleset": ruleset, "ruleGroups": rule_groups}
        for ruleset, rule_groups in included.items()
    ]
