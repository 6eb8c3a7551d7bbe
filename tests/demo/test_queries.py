"""Every query of every panel, variable, mark and rule on a real Prometheus that scrapes the demo."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.dashboards.uses import USES, Use, filled_in
from tests.demo.conftest import AT_ONCE
from tests.demo.running_demo import demo_running, prometheus_beside
from tests.real_parts import Prometheus
from tests.waiting import PATIENCE, wait_until

beside_prometheus = pytest.mark.real("prometheus")

# A demo of a minute has no yesterday and no last hour. These are asked of a month of samples in
# tests/dashboards/test_on_prometheus.py, which asks every query of the dashboards.
NEED_HISTORY = {
    *(("edge-overview", f"{what} by account") for what in ("DNS queries", "Script requests")),
    ("edge-overview", "Rate-limit breaches by action"),
    ("edge-overview", "What appeared and disappeared"),
    ("edge-dns", "Queries a day"),
    ("edge-dns", "Queries against the same time before"),
    ("edge-scripts", "Releases"),
    ("edge-zone", "Against its past"),
}

WORLD, FAULTS = "/sandbox/world", "/sandbox/faults"


def of_shield_zone(zone_id: int, **fields: object) -> dict[str, object]:
    """Return the event that changes fields of a shield zone."""
    return {"event": "shield_zone_fields", "shield_zone_id": zone_id, "fields": fields}


# For every event that a query waits for, what brings it about; zones, scripts and lists are the demo's own.
EVENTS: Mapping[str, tuple[str, dict[str, object]]] = {
    "a scan ends as Failed, or stays open for an hour": (WORLD, {"event": "scan_failed", "zone_id": 101}),
    "a zone is listed that was never scanned": (WORLD, {"event": "scan_forgotten", "zone_id": 102}),
    "an access list's content changes":
        (WORLD, {"event": "access_list_entry", "access_list_id": 5, "entry": "203.0.113.7/32"}),
    "a platform call fails":
        (FAULTS, {"kind": "status", "status": 401, "path_regex": "/shield/shield-zone/.*/bot-detection"}),
    "a target's poll fails": (FAULTS, {"kind": "status", "status": 500, "path": "/v2/pipeline"}),
    "an alert of the shipped rules is pending or fires":
        (WORLD, {"event": "script_cost", "script_id": 7, "cost": 600.0}),
}  # fmt: skip
# What is for the alerts alone.
MORE_TROUBLE: tuple[tuple[str, dict[str, object]], ...] = (
    (FAULTS, {"kind": "status", "status": 500, "path_regex": "/dnszone/10[4-9]/statistics"}),
    (WORLD, of_shield_zone(1, wafEnabled=False)),
    (WORLD, of_shield_zone(3, learningMode=True, learningModeUntil="2020-01-01T00:00:00Z")),
)
# What a demo begins with may stand out; tests/dashboards/test_incidents.py has each finding and a calm hour.
FOUND = "something is wrong"
# The alerts on what is there now; all others compare with hours or days ago, or are about the exporter itself, and
# have their cases for promtool.
FIRING = {
    "EdgeCollectorFailing", "EdgeDatabaseDown", "EdgeDatabaseQueryFailing", "EdgeDnsScanFailed", "EdgeImageTagMissing",
    "EdgeLearningModeLeftOn", "EdgeScriptOverBudget", "EdgeShieldProtectionOff", "EdgeTargetFailing",
}  # fmt: skip


def ask(prometheus: Prometheus, use: Use, seconds: int) -> bool:
    """Return whether a query has results now, or for a range, in the last seconds."""
    now = time.time()
    # What changed is held against a quarter of an hour ago: here, against seconds ago.
    query = filled_in(use).replace("offset 15m", "offset 20s")
    if use.instant:
        return bool(prometheus.ask(query, time=now))
    return bool(prometheus.ask_range(query, start=now - seconds, end=now, step=5))


@beside_prometheus
def test_every_query_finds_something_unless_it_is_quiet_where_all_is_well(prometheus: Prometheus) -> None:
    wait_until(lambda: prometheus.ask("count_over_time(up[1m]) >= 15"), "fifteen scrapes")
    asked = [use for use in USES if not use.query.quiet and (use.page, use.place) not in NEED_HISTORY]
    assert len(asked) > 150
    assert [f"{use.page} {use.kind}: {use.place}" for use in asked if not ask(prometheus, use, 10)] == []
    silent = [use for use in USES if use.query.quiet and use.query.quiet != FOUND]
    assert [f"{use.page} {use.kind}: {use.place}" for use in silent if ask(prometheus, use, 5)] == []


@beside_prometheus
def test_scripted_trouble_fires_the_alerts_and_gives_the_quiet_queries_answers(tmp_path: Path) -> None:
    silent = [use for use in USES if use.query.quiet in EVENTS]
    with demo_running() as demo, prometheus_beside(demo, tmp_path, AT_ONCE) as prometheus:
        # A list has changed where another content was seen before.
        seen = "edge_shield_access_list_info offset 20s"
        wait_until(lambda: bool(prometheus.ask(seen)), "a list that was seen")
        image = demo.sandbox.get("/sandbox/world").json()["images"][0]
        tag = {name: image[name] for name in ("registry_id", "namespace", "name")} | {"tag": image["tags"][0]}
        demo.sandbox.post("/sandbox/world", event="image_tag_removed", **tag)
        for path, event in (*EVENTS.values(), *MORE_TROUBLE):
            demo.sandbox.post(path, **event)
        resting, ends = set(FIRING), time.monotonic() + PATIENCE
        while (silent or resting) and time.monotonic() < ends:
            time.sleep(1)
            # A counter that begins with its first event has risen at the second one, a poll later.
            silent = [use for use in silent if not ask(prometheus, use, 60)]
            resting -= {found["metric"]["alertname"] for found in prometheus.ask('ALERTS{alertstate="firing"}')}
    assert sorted(resting) == []
    assert [f"{use.page} {use.kind}: {use.place}" for use in silent] == []
