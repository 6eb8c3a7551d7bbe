"""The mixin, evaluated by a real Jsonnet."""

import json

import pytest

from tests.deploy.changed_rules import changed_rules
from tests.deploy.files import DASHBOARDS, DEPLOY, Document

jsonnet = pytest.importorskip("_jsonnet", reason="jsonnet is missing: pip install jsonnet")

CONFIG = "{ runbookBase: 'https://wiki.example.net', alertLabels: { team: 'edge' }, severities: { critical: 'page' } }"
CHANGES = {"runbook_base": "https://wiki.example.net", "labels": {"team": "edge"}, "severities": {"critical": "page"}}


def evaluated(config: str) -> Document:
    text = (
        f"local mixin = (import 'mixin.libsonnet') + {{ _config+:: {config} }};"
        "{ alerts: mixin.prometheusAlerts, records: mixin.prometheusRules, dashboards: mixin.grafanaDashboards }"
    )
    return dict(json.loads(jsonnet.evaluate_snippet(str(DEPLOY / "mixin" / "test.jsonnet"), text)))


def rules_by_group(groups: list[Document]) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for group in groups:
        found.setdefault(group["name"], []).extend(group["rules"])
    return {name: sorted(rules, key=lambda rule: json.dumps(rule, sort_keys=True)) for name, rules in found.items()}


@pytest.mark.parametrize(("config", "changes"), [("{}", {}), (CONFIG, CHANGES)], ids=["as shipped", "changed"])
def test_it_holds_every_rule_and_dashboard_with_the_changes_of_the_configuration(
    config: str, changes: Document
) -> None:
    shown = evaluated(config)
    groups = [group for groups in changed_rules(**changes).values() for group in groups]
    assert rules_by_group(shown["alerts"]["groups"] + shown["records"]["groups"]) == rules_by_group(groups)
    assert all("alert" in rule for group in shown["alerts"]["groups"] for rule in group["rules"])
    assert shown["dashboards"] == {path.name: json.loads(path.read_text()) for path in DASHBOARDS.glob("*.json")}
