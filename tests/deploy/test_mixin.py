"""The mixin, evaluated by a real Jsonnet."""

import json

import pytest

from tests.deploy.files import DASHBOARDS, DEPLOY, RULES, Document, document

jsonnet = pytest.importorskip("_jsonnet", reason="jsonnet is missing: pip install jsonnet")

CONFIG = "{ runbookBase: 'https://wiki.example.net', alertLabels: { team: 'edge' }, severities: { critical: 'page' } }"


def evaluated(config: str) -> Document:
    text = (
        f"local mixin = (import 'mixin.libsonnet') + {{ _config+:: {config} }};"
        "{ alerts: mixin.prometheusAlerts, records: mixin.prometheusRules, dashboards: mixin.grafanaDashboards }"
    )
    return dict(json.loads(jsonnet.evaluate_snippet(str(DEPLOY / "mixin" / "test.jsonnet"), text)))


def test_it_holds_every_rule_and_dashboard() -> None:
    shown = evaluated("{}")
    shipped = [group for path in RULES.glob("*.yml") for group in document(path)["groups"]]
    held, rules = (
        sorted(json.dumps([group["name"], rule], sort_keys=True) for group in groups for rule in group["rules"])
        for groups in (shown["alerts"]["groups"] + shown["records"]["groups"], shipped)
    )
    assert held == rules
    assert all("alert" in rule for group in shown["alerts"]["groups"] for rule in group["rules"])
    assert shown["dashboards"] == {path.name: json.loads(path.read_text()) for path in DASHBOARDS.glob("*.json")}


def test_the_configuration_changes_labels_severities_and_runbooks_of_every_alert() -> None:
    shipped, changed = (
        {rule["alert"]: rule for group in evaluated(config)["alerts"]["groups"] for rule in group["rules"]}
        for config in ("{}", CONFIG)
    )
    for name, rule in shipped.items():
        severity = rule["labels"]["severity"]
        rule["labels"] |= {"team": "edge", "severity": "page" if severity == "critical" else severity}
        rule["annotations"]["runbook_url"] = f"https://wiki.example.net/{name}.md"
    assert changed == shipped
