"""Reads the shipped rules."""

import json
import os
import re
import subprocess
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
        call: the function whose argument it is, directly or by its range; empty where there is none.
        seconds: the length of its range, 0 where it has none.
    """

    name: str
    labels: frozenset[str]
    call: str
    seconds: float


@cache
def read_rules(file: Path) -> dict[str, Any]:
    """Load a file of rules."""
    rules: dict[str, Any] = yaml.safe_load(file.read_text())
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
    case: dict[str, Any] = yaml.safe_load((CASES / f"{name}.test.yml").read_text())
    return case


def run_case(promtool: str, case: dict[str, Any], alerts: set[str], folder: Path) -> None:
    """Run a promtool case on the shipped recordings and some of the alerts: promtool evaluates every rule at each step.

    Args:
        promtool: the program.
        case: the case, as `load_case` returns it.
        alerts: the names of the alerts that it asks for.
        folder: where the files for promtool are written.

    Raises:
        AssertionError: a result differs from the case.
    """
    files = []
    # JSON is valid YAML.
    for shipped in case["rule_files"]:
        groups = [
            {**group, "rules": [rule for rule in group["rules"] if "record" in rule or rule["alert"] in alerts]}
            for group in read_rules((CASES / shipped).resolve())["groups"]
        ]
        files.append(Path(shipped).name)
        (folder / files[-1]).write_text(json.dumps({"groups": groups}))
    file = folder / "case.test.yml"
    file.write_text(json.dumps({**case, "rule_files": files}))
    # promtool allocates much memory and keeps little, so fewer collections are faster.
    run = subprocess.run(
        [promtool, "test", "rules", file],
        env={**os.environ, "GOGC": "800"},
        timeout=PATIENCE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def seconds(duration: str) -> float:
    """Return the seconds of a duration in Prometheus' notation, such as 9d2h."""
    unit = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
    return sum(int(number) * unit[letter] for number, letter in re.findall(r"(\d+)([wdhms])", duration))
