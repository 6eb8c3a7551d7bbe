"""Reads the shipped rules."""

import json
import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import promql_parser
import yaml
from promql_parser import MatrixSelector, VectorSelector

from tests.dashboards.expressions import walk
from tests.waiting import PATIENCE

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
RULES: Final = DEPLOY / "prometheus" / "rules"
RUNBOOKS: Final = DEPLOY / "runbooks"
CASES: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Rule:
    """An alert or a recording rule.

    Attributes:
        name: the name of the alert or of the recorded series.
        alerting: whether it is an alert.
    """

    file: str
    name: str
    alerting: bool
    expr: str
    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Selected:
    """A selector of an expression.

    Attributes:
        call: the function whose argument it is, directly or by its range; empty if there is none.
        seconds: the length of its range, 0 without one.
    """

    name: str
    labels: frozenset[str]
    call: str
    seconds: float


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


def selected(expr: str) -> list[Selected]:
    """Return every selector of an expression."""
    found = []
    for part, around in walk(promql_parser.parse(expr)):
        if isinstance(part, VectorSelector):
            ranges = [outer.range.total_seconds() for outer in around[:1] if isinstance(outer, MatrixSelector)]
            caller = around[len(ranges)] if len(around) > len(ranges) else None
            found.append(
                Selected(
                    name=part.name or "",
                    labels=frozenset(matcher.name for matcher in part.matchers.matchers),
                    call=getattr(getattr(caller, "func", None), "name", ""),
                    seconds=ranges[0] if ranges else 0,
                )
            )
    return found


@cache
def load_case(name: str) -> dict[str, Any]:
    """Load a promtool file by the name of its alert."""
    case: dict[str, Any] = yaml.load((CASES / f"{name}.test.yml").read_text(), yaml.CSafeLoader)
    return case


@dataclass(frozen=True, slots=True)
class Case:
    """A promtool file, and its evaluated contents.

    Attributes:
        name: its name, under which a failure is reported.
        content: the file's, as `load_case` returns it.
        alerts: the names of the alerts that it tests.
    """

    name: str
    content: dict[str, Any]
    alerts: frozenset[str]


def run_cases(promtool: str, cases: Iterable[Case], folder: Path) -> None:
    """Run promtool once for all cases, on the shipped rules; it evaluates every rule of a case's files at each step.

    Args:
        promtool: the program.
        cases: they share the folder.
        folder: where the files for promtool are written.

    Raises:
        AssertionError: results differ; it has the output of each case that failed.
    """
    files = [write_case(case, folder) for case in cases]
    assert files
    # promtool allocates much memory and keeps little, so fewer collections are faster.
    run = subprocess.run(
        [promtool, "test", "rules", *files],
        env={**os.environ, "GOGC": "800"},
        timeout=3 * PATIENCE,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = [part for part in run.stdout.split("Unit Testing:") if "SUCCESS" not in part]
    assert run.returncode == 0, "".join(failed) + run.stderr


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


def seconds(duration: str) -> float:
    """Return the seconds of a duration in Prometheus' notation, such as 9d2h."""
    unit = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
    return sum(int(number) * unit[letter] for number, letter in re.findall(r"(\d+)([wdhms])", duration))
