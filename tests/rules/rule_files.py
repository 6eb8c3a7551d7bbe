"""Reads the shipped rules."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tests.deploy.files import DEPLOY, RULES, Document, document

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
        for group in document(path)["groups"]
        for rule in group["rules"]
    )


def load_alerts() -> list[Rule]:
    """Return every alert."""
    return [rule for rule in load_rules() if rule.alerting]


def load_recordings() -> list[Rule]:
    """Return every recording rule."""
    return [rule for rule in load_rules() if not rule.alerting]


@cache
def load_case(name: str) -> Document:
    """Load a promtool file by the name of its alert."""
    return document(CASES / f"{name}.test.yml")
