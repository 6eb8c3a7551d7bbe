"""`assets`: the written files are the shipped ones with the requested changes, and other programs accept them."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.commands.shell import Ended, invoke
from tests.deploy.files import DASHBOARDS, DEPLOY
from tests.real_parts import find, find_promtool
from tests.rules.rule_files import load_alerts

SHIPPED = {
    "dashboards": {path.name: path.read_text() for path in DASHBOARDS.glob("*.json")},
    "rules": {path.name: path.read_text() for path in (DEPLOY / "prometheus" / "rules").glob("*.yml")},
    "alertmanager": {path.name: path.read_text() for path in (DEPLOY / "alertmanager").glob("*.yml")},
    "runbooks": {path.name: path.read_text() for path in (DEPLOY / "runbooks").glob("*.md")},
    "endpoints": {path.name: path.read_text() for path in (DEPLOY / "endpoints").iterdir()},
    "configuration": {"edge-exporter.yml": (DEPLOY / "edge-exporter.yml").read_text()},
}
OUTWARD = "](https://github.com/edge-exporter/edge-exporter/blob/main/deploy/"


def written(folder: Path) -> dict[str, str]:
    """Return the files of a folder, by name, without the digests in their first lines."""
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    return {name: re.sub(r"\A.* sha256 [0-9a-f]{64}.*\n", "", text) for name, text in texts.items()}


@pytest.mark.parametrize("what", SHIPPED)
def test_it_writes_what_is_shipped(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    ended = invoke("assets", what, folder)
    count = len(SHIPPED[what])
    assert ended == Ended(f"{count} file{'' if count == 1 else 's'} written to {folder}\n", "", 0)
    assert {name: text.replace(OUTWARD, "](../") for name, text in written(folder).items()} == SHIPPED[what]


def test_files_of_an_earlier_version_are_replaced_and_those_that_were_edited_are_kept_unless_forced(
    tmp_path: Path,
) -> None:
    invoke("assets", "rules", tmp_path, "--set", "severity.critical=page")
    edited = tmp_path / "dns.yml"
    edited.write_text(edited.read_text().replace("severity: warning", "severity: night", 1))
    (tmp_path / "shield.yml").unlink()
    rest = len(SHIPPED["rules"]) - 1
    ended = invoke("assets", "rules", tmp_path)
    assert (ended.out, ended.code) == (f"{rest} files written to {tmp_path}\n", 1)
    head = f"these files were edited and are kept; --force replaces them:\n  {edited}\n--- {edited}\n+++ this version\n"
    assert ended.err.startswith(head)
    assert re.search(r"^-\s+severity: night$", ended.err, re.MULTILINE)
    assert "sha256" not in ended.err
    assert re.search(r"^\+\s+severity: warning$", ended.err, re.MULTILINE)
    assert {name for name, text in written(tmp_path).items() if text != SHIPPED["rules"][name]} == {"dns.yml"}
    forced = invoke("assets", "rules", tmp_path, "--force")
    assert forced == Ended(f"1 file written to {tmp_path}; up to date: {rest}\n", "", 0)
    assert written(tmp_path) == SHIPPED["rules"]


@pytest.mark.parametrize("what", ["dashboards", "rules"])
def test_a_file_without_a_digest_is_kept_if_it_differs(what: str, tmp_path: Path) -> None:
    for name, text in SHIPPED[what].items():
        (tmp_path / name).write_text(text)
    assert invoke("assets", what, tmp_path).code == 0
    other = tmp_path / next(iter(SHIPPED[what]))
    other.write_text("{}\n")
    ended = invoke("assets", what, tmp_path)
    assert (ended.code, other.read_text()) == (1, "{}\n")
    assert f"  {other}\n--- {other}\n" in ended.err
    assert "\n-{}\n" in ended.err


def test_values_of_an_organisation_reach_every_rule(tmp_path: Path) -> None:
    changes = ("--set", "severity.critical=page", "--set", "runbook_base=https://wiki.example.net/edge")
    assert invoke("assets", "rules", tmp_path, *changes, "--set", "job=edge|edge-lab").code == 0
    rules = [
        rule
        for text in written(tmp_path).values()
        for group in yaml.safe_load(text)["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]
    former = {alert.name: alert.labels["severity"] for alert in load_alerts()}
    assert {rule["alert"]: rule["labels"]["severity"] for rule in rules} == {
        name: {"critical": "page"}.get(severity, severity) for name, severity in former.items()
    }
    assert {rule["annotations"]["runbook_url"] for rule in rules} == {
        f"https://wiki.example.net/edge/{name}.md" for name in former
    }
    asked = [rule["expr"] for rule in rules if rule["alert"] in {"EdgeExporterDown", "EdgeExporterAbsent"}]
    assert sorted(asked) == ['absent(up{job=~"edge|edge-lab"})', 'up{job=~"edge|edge-lab"} == 0']
    assert "edge-exporter in its name" not in json.dumps(rules)


def test_the_routes_and_the_index_follow_the_severities_and_names_may_change_places(tmp_path: Path) -> None:
    changes = ("--set", "severity.critical=info", "--set", "severity.info=critical")
    invoke("assets", "alertmanager", tmp_path / "routes", *changes)
    routes = yaml.safe_load((tmp_path / "routes" / "alertmanager.yml").read_text())["route"]["routes"]
    matched = {route["receiver"]: route["matchers"] for route in routes}
    assert (matched["critical"], matched["info"]) == (['severity="info"'], ['severity="critical"'])
    invoke("assets", "runbooks", tmp_path / "pages", *changes)
    index = (tmp_path / "pages" / "README.md").read_text()
    assert "[EdgeAccountDown](EdgeAccountDown.md) | info |" in index
    assert "- `info` needs a person now" in index


@pytest.mark.parametrize(
    ("what", "assignment", "expected"),
    [
        ("dashboards", "severity.critical=page", "nothing of the dashboards is set"),
        ("endpoints", "a=b", "a=b: nothing of the endpoints is set"),
        ("configuration", "a=b", "a=b: nothing of the configuration is set"),
        ("rules", "severty.critical=page", "severty.critical=page: expected runbook_base=URL, job=REGEX"),
        ("rules", "EdgeNothing.for=1m", "EdgeNothing: no shipped alert has this name"),
        ("rules", 'job=a"b', 'job=a"b: expected a regular expression of job names'),
        ("alertmanager", "runbook_base=https://x.example", "only severity.NAME=NEW changes the Alertmanager"),
        ("alertmanager", "severity.urgent=page", "severity.urgent: expected one of critical, info, none, warning"),
        ("alertmanager", "severity.critical=pa'ge", "severity.critical: expected a name of letters"),
        ("runbooks", "job=edge", "only severity.NAME=NEW changes the runbooks"),
    ],
)
def test_a_change_that_cannot_be_made_is_named_and_nothing_is_written(
    what: str, assignment: str, expected: str, tmp_path: Path
) -> None:
    ended = invoke("assets", what, tmp_path / "new", "--set", assignment)
    assert (ended.out, ended.code, (tmp_path / "new").exists()) == ("", 2, False)
    assert expected in ended.err


def test_a_folder_that_cannot_be_had_is_one_line(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    assert invoke("assets", "rules", taken) == Ended("", f"{taken}: File exists\n", 1)
    assert invoke("assets", "rules", taken / "below") == Ended("", f"{taken / 'below'}: Not a directory\n", 1)


@pytest.mark.real
def test_promtool_and_amtool_accept_what_is_changed(tmp_path: Path) -> None:
    changes = ("--set", "severity.critical=page")
    invoke(
        "assets", "rules", tmp_path / "rules", *changes, "--set", "job=edge", "--set", "runbook_base=https://w.example"
    )
    invoke("assets", "alertmanager", tmp_path, *changes)
    checks: tuple[tuple[str | Path, ...], ...] = (
        (find_promtool(), "check", "rules", *sorted((tmp_path / "rules").glob("*.yml"))),
        (find("amtool"), "check-config", tmp_path / "alertmanager.yml"),
    )
    for check in checks:
        done = subprocess.run(check, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
