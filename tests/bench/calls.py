"""Measures how many calls a second the platform client makes on one core."""

import json
import os
import subprocess

from tests.bench.calls_process import CLIENTS
from tests.bench.child import own, started
from tests.bench.plan import Plan
from tests.bench.report import Report, Table, ratio

TURNS = 3


def measure(plan: Plan, report: Report) -> None:
    """Measure each client on the same platform, one after another."""
    table = Table(
        "Platform calls on one core, models parsed",
        ("in flight", "client", "calls/s", "CPU ms a call", "times plain httpx"),
    )
    cores = sorted(os.sched_getaffinity(0))
    server_core, client_core = cores[0], cores[-1]
    with started(own("tests.bench.platform_process", "--core", str(server_core))) as platform:
        for in_flight in plan.in_flight:
            seen: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
            for _ in range(TURNS):
                for name in CLIENTS:
                    seen[name].append(_call(name, platform.url, in_flight, plan.call_seconds / TURNS, client_core))
            best = {name: sorted(turns, key=lambda turn: turn["rate"])[TURNS // 2] for name, turns in seen.items()}
            for name, reported in best.items():
                table.add(
                    in_flight,
                    name,
                    reported["rate"],
                    reported["cpu_ms"],
                    ratio(reported["rate"], best["httpx"]["rate"]),
                )
    report.add(table)


def _call(name: str, url: str, in_flight: int, seconds: float, core: int) -> dict[str, float]:
    arguments = (name, url, "--in-flight", str(in_flight), "--seconds", str(seconds), "--core", str(core))
    ran = subprocess.run(own("tests.bench.calls_process", *arguments), capture_output=True, text=True, check=True)
    reported: dict[str, float] = json.loads(ran.stdout)
    return reported
