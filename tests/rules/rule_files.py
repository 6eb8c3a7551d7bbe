"""Reads the shipped rules."""

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.dashboards.expressions import selected
from tests.waiting import PATIENCE

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
RULES: Final = DEPLOY / "prometheus" / "rules"
RUNBOOKS: Final = DEPLOY / "runbooks"
CASES: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Rule:
    """An alert or a recording rule; its name is that of the alert or of the recorded series."""

    file: str
    name: str
    alerting: bool
    expr: str
    labels: dict[str, str]
    annotations: dict[str, str]
    keep_firing_for: str


@cache
def read_rules(file: Path) -> dict[str, Any]:
    """Load a file of rules."""
    rules: dict[str, Any] = yaml.load(file.read_text(), yaml.CSafeLoader)
    return rules


@cache
def load_rules() -> tuple[Rule, ...]:
    """Return every rule of every shipped file, in order."""
    return tuple(
        Rule(
            file=path.name,
            name=rule["alert"] if "alert" in rule else rule["record"],
            alerting="alert" in rule,
            expr=rule["expr"],
            labels=rule.get("labels", {}),
            annotations=rule.get("annotations", {}),
            keep_firing_for=rule.get("keep_firing_for", ""),
        )
        for path in sorted(RULES.glob("*.yml"))
        for group in read_rules(path)["groups"]
        for rule in group["rules"]
    )


def load_alerts() -> list[Rule]:
    """Return every alert."""
    return [rule for rule in load_rules() if rule.alerting]


def load_recordings() -> list[Rule]:
    """Return every recording rule."""
    return [rule for rule in load_rules() if not rule.alerting]


@cache
def load_case(name: str) -> dict[str, Any]:
    """Load a promtool file by the name of its alert."""
    case: dict[str, Any] = yaml.load((CASES / f"{name}.test.yml").read_text(), yaml.CSafeLoader)
    return case


def run(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program, and return its exit status and what it printed."""
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)


@dataclass(frozen=True, slots=True)
class Case:
    """A promtool file: its name, its content as `load_case` returns it, and the alerts that it tests."""

    name: str
    content: dict[str, Any]
    alerts: frozenset[str]


def run_cases(promtool: str, cases: Iterable[Case], folder: Path) -> None:
    """Run promtool once for all cases, on the shipped rules; it evaluates every rule of a case's files at each step.

    Raises:
        AssertionError: results differ; it has the output of each case that failed.
    """
    files = [write_case(case, folder) for case in cases]
    assert files
    # promtool allocates much memory and keeps little, so fewer collections are faster.
    tested = run(promtool, "test", "rules", *files, env={**os.environ, "GOGC": "800"}, timeout=3 * PATIENCE)
    failed = [part for part in tested.stdout.split("Unit Testing:") if "SUCCESS" not in part]
    assert tested.returncode == 0, "".join(failed) + tested.stderr


def write_case(case: Case, folder: Path) -> Path:
    """Write a case's file, and its rule files with only the recordings and alerts that it needs."""
    needed = needed_for(case.alerts)
    own = folder / case.name
    own.mkdir()
    # JSON is valid YAML.
    for shipped in case.content["rule_files"]:
        groups = [
            {**group, "rules": [rule for rule in group["rules"] if rule.get("record", rule.get("alert")) in needed]}
            for group in read_rules((CASES / shipped).resolve())["groups"]
        ]
        (own / Path(shipped).name).write_text(json.dumps({"groups": groups}))
    file = own / "case.test.yml"
    files = [Path(shipped).name for shipped in case.content["rule_files"]]
    file.write_text(json.dumps({**case.content, "rule_files": files}))
    return file


def needed_for(alerts: frozenset[str]) -> frozenset[str]:
    """Return the names of alerts, of the recorded series that they read, of those that these read, and so on."""
    read = {part.name for rule in load_rules() if rule.name in alerts for part in selected(rule.expr)}
    recorded = frozenset(rule.name for rule in load_recordings() if rule.name in read)
    return alerts if recorded <= alerts else needed_for(alerts | recorded)
