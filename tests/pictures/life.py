"""Defines a month of normal traffic on the platform of the pictures."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from tests.dashboards.world import END, HISTORY, Labels
from tests.pictures.holdings import (
    LIMITS,
    RECORD_TYPES,
    RECORDS,
    SCRIPTS,
    SHIELDS,
    ZONES,
)
from tests.pictures.standing import EXPORTER, HOUR, MOMENT, REST, SHIELDED, TROUBLE, Labelled, share
from tests.pictures.traffic import DAY, Flow, month_begin, spread

RELEASED = (MOMENT - timedelta(hours=9)).timestamp()


def burst(at: float) -> float:
    """Return the factor of breaches during an attack on passwords last night."""
    return 1 + 6 * math.exp(-(((at - TROUBLE + 9.5 * HOUR) / 2400) ** 2))


class Life:
    """The value of every series at every time."""

    def __init__(self) -> None:
        self._queries = {zone: self._flow(f"zone {zone}", mean) for _, zone, _, mean in ZONES}
        self._requests = {script: self._flow(f"script {script}", mean) for _, script, _, mean, *_ in SCRIPTS}
        self._breaches = {
            limit: self._flow(f"limit {limit}", mean, burst if name == "login" else None)
            for _, _, limit, name, mean in LIMITS
        }
        self._cpu = {script: seconds for _, script, _, _, seconds, _ in SCRIPTS}
        self._budget = {script: dollars for _, script, *_, dollars in SCRIPTS}
        self._special: dict[str, Labelled] = {
            **self._of_dns(),
            **self._of_scans(),
            **self._of_scripts(),
            **self._of_shield(),
            **SHIELDED,
            **REST,
            **EXPORTER,
        }

    def sample(self, family: str, labels: Labels, moment: datetime) -> float | None:
        """Return the value of a series; None if it has none."""
        return self._special[family](labels, moment.timestamp()) if family in self._special else None

    def _flow(self, key: str, mean: float, wave: Callable[[float], float] | None = None) -> Flow:
        return Flow(key, mean, HISTORY - timedelta(days=32), END, wave)

    def _of_dns(self) -> dict[str, Labelled]:
        def polled(at: float) -> float:
            # Just after midnight the count is still that of the old day.
            return at - 150 - (at - 150) % 300

        def today(labels: Labels, at: float) -> float:
            return self._queries[labels["zone_id"]].between(polled(at) - polled(at) % DAY, polled(at))

        def window(labels: Labels, at: float) -> float:
            return self._queries[labels["zone_id"]].between(polled(at) - polled(at) % DAY - 30 * DAY, polled(at))

        def ever(labels: Labels, at: float) -> float:
            return self._queries[labels["zone_id"]].between(HISTORY.timestamp(), polled(at))

        def routed(labels: Labels) -> float:
            smart = share(f"smart {labels['zone_id']}", 0.1, 0.5)
            return smart if labels["routing"] == "smart" else 1 - smart

        return {
            "edge_dns_day_queries": today,
            "edge_dns_day_start_timestamp_seconds": lambda _, at: polled(at) - polled(at) % DAY,
            "edge_dns_day_routed_queries": lambda labels, at: today(labels, at) * routed(labels),
            "edge_dns_window_queries": window,
            "edge_dns_window_routed_queries": lambda labels, at: window(labels, at) * routed(labels),
            "edge_dns_window_record_queries": lambda labels, at: (
                window(labels, at) * RECORD_TYPES[labels["record_type"]]
            ),
            "edge_dns_queries_total": ever,
            "edge_dns_routed_queries_total": lambda labels, at: ever(labels, at) * routed(labels),
        }

    def _of_scans(self) -> dict[str, Labelled]:
        def created(labels: Labels, at: float) -> float | None:
            zone = labels["zone_id"]
            if zone == "204":
                return None
            begin = END.timestamp() - share(f"scan {zone}", 3, 60) * HOUR
            return begin if at > begin else begin - 7 * DAY

        def completed(labels: Labels, at: float) -> float | None:
            begin = created(labels, at)
            return begin if begin is None else begin + share(f"took {labels['zone_id']} {begin}", 25, 260)

        def status(labels: Labels, at: float) -> float | None:
            if created(labels, at) is None:
                return None
            return float(labels["status"] == "completed")

        def found(labels: Labels, at: float) -> float | None:
            begin = created(labels, at)
            return begin and round(RECORDS[labels["record_type"]] * share(f"{labels['zone_id']} records", 0.5, 2))

        return {
            "edge_dns_record_scan_status": status,
            "edge_dns_record_scan_found": lambda labels, at: float(created(labels, at) is not None),
            "edge_dns_record_scan_created_timestamp_seconds": created,
            "edge_dns_record_scan_completed_timestamp_seconds": completed,
            "edge_dns_record_scan_records": found,
            "edge_dns_record_scan_proxied_records": lambda labels, at: created(labels, at) and 9.0,
            "edge_dns_record_scan_info": lambda labels, at: created(labels, at) and 1.0,
        }

    def _of_scripts(self) -> dict[str, Labelled]:
        def requests(labels: Labels, begin: float, at: float) -> float:
            return self._requests[labels["script_id"]].between(begin, at)

        def cpu(labels: Labels, begin: float, at: float) -> float:
            script = labels["script_id"]
            seconds = requests(labels, begin, at) * self._cpu[script]
            # The release made the router slower.
            return seconds + (
                0.6 * requests(labels, max(begin, RELEASED), at) * self._cpu[script]
                if (script == "7" and at > RELEASED)
                else 0.0
            )

        def cost(labels: Labels, begin: float, at: float) -> float:
            return 0.2e-6 * requests(labels, begin, at) + 2e-5 * cpu(labels, begin, at)

        def polled(at: float) -> float:
            return at - at % 900

        figures = {"cost_dollars": cost, "requests": requests, "cpu_seconds": cpu}

        def this_month(of: Callable[[Labels, float, float], float]) -> Labelled:
            return lambda labels, at: of(labels, month_begin(at), polled(at))

        def ever(of: Callable[[Labels, float, float], float]) -> Labelled:
            return lambda labels, at: of(labels, HISTORY.timestamp(), polled(at))

        return {
            **{f"edge_script_monthly_{name}": this_month(of) for name, of in figures.items()},
            **{f"edge_script_{name}_total": ever(of) for name, of in figures.items()},
            "edge_script_info": lambda *_: 1.0,
            "edge_script_last_modified_timestamp_seconds": lambda labels, at: (
                RELEASED
                if labels["script_id"] == "7" and at > RELEASED
                else END.timestamp() - share(f"modified {labels['script_id']}", 3, 40) * DAY
            ),
            "edge_script_deleted": lambda *_: 0.0,
            "edge_script_variables": lambda labels, _: 2.0 if labels["required"] == "true" else 5.0,
            "edge_script_linked_pull_zones": lambda labels, _: float(round(share(labels["script"], 1, 4))),
            "edge_script_monthly_budget_dollars": lambda labels, _: self._budget[labels["script_id"]],
        }

    def _of_shield(self) -> dict[str, Labelled]:
        parts = {"logged": 0.5, "challenged": 0.2, "blocked": 0.3}

        def ever(labels: Labels, begin: float, at: float) -> float:
            return float(int(self._breaches[labels["rate_limit_id"]].between(begin, at - at % 60)))

        def by_action(labels: Labels, begin: float, at: float) -> float:
            return float(int(parts[labels["action"]] * ever(labels, begin, at)))

        return {
            "edge_shield_rate_limit_window_breaches_overall": lambda labels, at: ever(labels, at - 28 * DAY, at),
            "edge_shield_rate_limit_window_breaches": lambda labels, at: by_action(labels, at - 28 * DAY, at),
            "edge_shield_rate_limit_day_breaches": lambda labels, at: by_action(labels, at - at % DAY, at),
            "edge_shield_rate_limit_breaches_total": lambda labels, at: by_action(labels, HISTORY.timestamp(), at),
        }


_PULL_ZONES = {zone: name for _, zone, name in SHIELDS}


def named(labels: dict[str, str], moment: datetime) -> dict[str, str]:
    """Return the labels of each thing, with a release of this morning."""
    own: dict[str, str] = {}
    if "pull_zone_id" in labels:
        zone = labels["shield_zone_id"]
        own = {"pull_zone": _PULL_ZONES[zone], "pull_zone_id": f"90{zone}"}
        own["plan"] = "enterprise" if zone == "4" else "business"
    if "default_hostname" in labels:
        script = labels["script"]
        own = {
            "default_hostname": f"{script}.example",
            "system_hostname": f"{script}.edge.example",
            "repository": f"acme/{script}",
            "release_id": "42" if script == "router" and moment.timestamp() > RELEASED else "41",
        }
    if "job_id" in labels:
        own = {"job_id": f"{int(spread(labels['zone_id']) * 2**32):08x}"}
    return {**labels, **own}
