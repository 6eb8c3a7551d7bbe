"""Scripted trouble on the demo, in a real Prometheus with the shipped rules."""

from pathlib import Path

import pytest

from tests.demo.running_demo import demo_running, prometheus_beside
from tests.waiting import wait_until

WORLD, FAULTS = "/sandbox/world", "/sandbox/faults"


def of_shield_zone(zone_id: int, **fields: object) -> dict[str, object]:
    """Return the event that changes fields of a shield zone."""
    return {"event": "shield_zone_fields", "shield_zone_id": zone_id, "fields": fields}


# Zones and scripts are the demo's own.
TROUBLE: tuple[tuple[str, dict[str, object]], ...] = (
    (WORLD, {"event": "scan_failed", "zone_id": 101}),
    (WORLD, {"event": "script_cost", "script_id": 7, "cost": 600.0}),
    (WORLD, of_shield_zone(1, wafEnabled=False)),
    (WORLD, of_shield_zone(3, learningMode=True, learningModeUntil="2020-01-01T00:00:00Z")),
    (FAULTS, {"kind": "status", "status": 500, "path": "/v2/pipeline"}),
    (FAULTS, {"kind": "status", "status": 500, "path_regex": "/dnszone/10[4-9]/statistics"}),
)
# The alerts on present values. All others compare with hours or days ago, or are about the exporter itself, and
# have their cases for promtool.
FIRING = {
    "EdgeCollectorFailing", "EdgeDatabaseDown", "EdgeDatabaseQueryFailing", "EdgeDnsScanFailed", "EdgeImageTagMissing",
    "EdgeLearningModeLeftOn", "EdgeScriptOverBudget", "EdgeShieldProtectionOff", "EdgeTargetFailing",
}  # fmt: skip


@pytest.mark.real("prometheus")
def test_scripted_trouble_fires_the_alerts(tmp_path: Path) -> None:
    with demo_running() as demo, prometheus_beside(demo, tmp_path) as prometheus:
        image = demo.sandbox.get("/sandbox/world").json()["images"][0]
        tag = {name: image[name] for name in ("registry_id", "namespace", "name")} | {"tag": image["tags"][0]}
        # An alert on protection that was switched off compares with what was recorded before.
        recorded = 'shield_zone_protection:edge_shield_zone:on{shield_zone_id="1"} == 1'
        wait_until(lambda: prometheus.ask(recorded), recorded)
        for path, event in (*TROUBLE, (WORLD, {"event": "image_tag_removed", **tag})):
            demo.sandbox.post(path, **event)
        resting = set(FIRING)

        def all_have_fired() -> bool:
            resting.difference_update(
                found["metric"]["alertname"] for found in prometheus.ask('ALERTS{alertstate="firing"}')
            )
            return not resting

        wait_until(all_have_fired, "the alerts")
