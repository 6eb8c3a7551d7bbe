"""Renders the shipped alert rules with an organisation's own values.

A rule file marks each threshold of an expression with a comment at the end of its line: `> 1  # threshold: factor`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

_DURATION: Final = re.compile(r"(\d+(ms|[smhdwy]))+|0")
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_MARKED: Final = r"(?m)\S+(\s+# threshold: {name})$"
_FIELD: Final = re.compile(r"for|keep_firing_for|severity|expr|(label|annotation|threshold)\.[^.]*")
# How expressions of the shipped rules select the exporter's scrape job, and how texts name it.
_JOB: Final = 'job=~".*edge-exporter.*"'
_JOB_IN_WORDS: Final = "a job with edge-exporter in its name"
_JOB_PATTERN: Final = re.compile(r'[^"\\\s]+')
_GRAMMAR: Final = (
    "expected runbook_base=URL, job=REGEX, disabled=ALERT,ALERT, severity.NAME=NEW, label.NAME=VALUE, or "
    "ALERT.FIELD=VALUE, where FIELD is for, keep_firing_for, severity, expr, label.NAME, annotation.NAME or "
    "threshold.NAME"
)


class AssetError(Exception):
    """A shipped file is missing or a change is refused; the message says which, and what was expected."""


@dataclass(slots=True)
class RuleChanges:
    """The changes of all rules.

    Attributes:
        runbook_base: the new address before `/ALERT.md` in each `runbook_url`; empty changes nothing.
        job: a regular expression for the names of the exporter's scrape jobs; empty changes nothing.
        severities: a shipped severity → its new name.
        labels: labels that are added to every alert.
        disabled: alerts that are left out.
        own: an alert's name → its own changes, field → value, which have priority over those of all rules.
    """

    runbook_base: str = ""
    job: str = ""
    severities: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    own: dict[str, dict[str, str]] = field(default_factory=dict)


def parse_changes(assignments: Iterable[str]) -> RuleChanges:
    """Read changes that are written as `NAME=VALUE`, such as `EdgeWafSwitchedOff.for=10m`.

    Raises:
        AssetError: one of them is not of this form.
    """
    changes = RuleChanges()
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        match name.split(".") if equals else []:
            case ["runbook_base"]:
                changes.runbook_base = value.rstrip("/")
            case ["job"]:
                changes.job = value
            case ["disabled"]:
                changes.disabled.update(word.strip() for word in value.split(",") if word.strip())
            case ["severity", item]:
                changes.severities[item] = value
            case ["label", item]:
                changes.labels[item] = value
            case [alert, *path] if _FIELD.fullmatch(".".join(path)):
                changes.own.setdefault(alert, {})[".".join(path)] = value
            case _:
                raise AssetError(f"{assignment}: {_GRAMMAR}")
    return changes


def render(files: Mapping[str, str], changes: RuleChanges) -> dict[str, str]:
    """Apply changes to all shipped rule files (name → text); without any, the texts keep their comments.

    Raises:
        AssetError: a change names an alert, a severity or a threshold that does not exist, or its value is wrong.
    """
    if changes == RuleChanges():
        return dict(files)
    documents = {name: yaml.safe_load(text) for name, text in files.items()}
    groups = [group for document in documents.values() for group in document["groups"]]
    alerts = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    _check(changes, alerts)
    for group in groups:
        for rule in group["rules"]:
            _change_job(rule, changes.job)
        group["rules"] = [rule for rule in group["rules"] if rule.get("alert") not in changes.disabled]
    for alert in alerts:
        _change(alert, changes)
    return {
        name: yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
        for name, document in documents.items()
    }


def threshold_names(expr: str) -> tuple[str, ...]:
    """Return the thresholds that an expression marks, each once, in order."""
    return tuple(dict.fromkeys(re.findall(r"(?m)# threshold: (\w+)$", expr)))


def _check(changes: RuleChanges, alerts: list[dict[str, Any]]) -> None:
    names = {alert["alert"] for alert in alerts}
    for name in sorted({*changes.disabled, *changes.own} - names):
        raise AssetError(f"{name}: no shipped alert has this name")
    if changes.job and not _JOB_PATTERN.fullmatch(changes.job):
        raise AssetError(
            f"job={changes.job}: expected a regular expression of job names, without quotes, backslashes and spaces"
        )
    severities = {alert["labels"]["severity"] for alert in alerts}
    for name in sorted(changes.severities.keys() - severities):
        raise AssetError(f"severity.{name}: expected one of {', '.join(sorted(severities))}")
    own = (f"{alert}.{path}" for alert, fields in changes.own.items() for path in fields if path.startswith("label."))
    for path in (*(f"label.{label}" for label in changes.labels), *own):
        if not _LABEL.fullmatch(path.rpartition("label.")[2]):
            raise AssetError(f"{path}: expected a label's name: letters, digits and _")


def _change_job(rule: dict[str, Any], job: str) -> None:
    if job:
        rule["expr"] = rule["expr"].replace(_JOB, f'job=~"{job}"')
        for name, text in rule.get("annotations", {}).items():
            rule["annotations"][name] = text.replace(_JOB_IN_WORDS, f"the job {job}")


def _change(alert: dict[str, Any], changes: RuleChanges) -> None:
    name, labels, annotations = alert["alert"], alert["labels"], alert["annotations"]
    labels |= {"severity": changes.severities.get(labels["severity"], labels["severity"]), **changes.labels}
    if changes.runbook_base:
        annotations["runbook_url"] = f"{changes.runbook_base}/{name}.md"
    # An expression comes before its thresholds, and the severity after a label of this name.
    for path, value in sorted(changes.own.get(name, {}).items(), key=lambda item: item[0].partition(".")[0]):
        kind, _, item = path.partition(".")
        match kind:
            case "label" | "annotation":
                alert[f"{kind}s"][item] = value
            case "severity":
                labels["severity"] = value
            case "threshold":
                _change_threshold(alert, item, value)
            case _:
                if kind != "expr" and not _DURATION.fullmatch(value):
                    raise AssetError(f"{name}.{kind}: expected a duration such as 10m, not {value!r}")
                alert[kind] = value


def _change_threshold(alert: dict[str, Any], threshold: str, number: str) -> None:
    known, path = threshold_names(alert["expr"]), f"{alert['alert']}.threshold.{threshold}"
    if threshold not in known:
        has = ", ".join(known) or "none"
        raise AssetError(f"{path}: the alert has no such threshold; it has: {has}")
    if not _NUMBER.fullmatch(number):
        raise AssetError(f"{path}: expected a number, not {number!r}")
    alert["expr"] = re.sub(_MARKED.format(name=threshold), rf"{number}\1", alert["expr"])


class _Dumper(yaml.SafeDumper):
    """Writes expressions as blocks, as in the shipped files."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _Dumper.represent_text)
