"""`assets`: the written files are the shipped ones with the requested changes, and other programs accept them."""

import re
from pathlib import Path

import pytest

from tests.commands.shell import Ended, invoke
from tests.deploy.files import DASHBOARDS, DEPLOY, run
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
    """Return the files of a folder, by name."""
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("what", SHIPPED)
def test_it_writes_what_is_shipped(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    ended = invoke("assets", what, folder)
    count = len(SHIPPED[what])
    assert ended == Ended(f"{count} file{'' if count == 1 else 's'} written to {folder}\n", "", 0)
    assert written(folder) == {name: text.replace("](../", OUTWARD) for name, text in SHIPPED[what].items()}


def test_files_that_differ_are_kept_and_shown_unless_forced(tmp_path: Path) -> None:
    invoke("assets", "rules", tmp_path)
    edited = tmp_path / "dns.yml"
    edited.write_text(edited.read_text().replace("severity: warning", "severity: night", 1))
    (tmp_path / "shield.yml").unlink()
    rest = len(SHIPPED["rules"]) - 2
    ended = invoke("assets", "rules", tmp_path)
    assert (ended.out, ended.code) == (f"1 file written to {tmp_path}; up to date: {rest}\n", 1)
    head = f"these files differ and are kept; --force replaces them:\n  {edited}\n--- {edited}\n+++ this version\n"
    assert ended.err.startswith(head)
    assert re.search(r"^-\s+severity: night$", ended.err, re.MULTILINE)
    assert re.search(r"^\+\s+severity: warning$", ended.err, re.MULTILINE)
    assert {name for name, text in written(tmp_path).items() if text != SHIPPED["rules"][name]} == {"dns.yml"}
    forced = invoke("assets", "rules", tmp_path, "--force")
    assert forced == Ended(f"1 file written to {tmp_path}; up to date: {rest + 1}\n", "", 0)
    assert written(tmp_path) == SHIPPED["rules"]
    edited.write_bytes(edited.read_bytes().replace(b"\n", b"\r\n"))
    assert invoke("assets", "rules", tmp_path).err.endswith(f"{edited} differs only in its line breaks\n")


@pytest.mark.real
def test_promtool_and_amtool_accept_what_the_documented_commands_write_and_edit(tmp_path: Path) -> None:
    guide = (DEPLOY / "rules.md").read_text().partition("## Prometheus")[2].partition("\n## ")[0]
    edits = re.findall(r"^sed .*", guide.replace("/etc/prometheus", str(tmp_path)), re.MULTILINE)
    invoke("assets", "rules", tmp_path / "rules")
    invoke("assets", "alertmanager", tmp_path)
    for edit in edits:
        assert run("sh", "-c", edit.replace("/etc/alertmanager", str(tmp_path))).returncode == 0
    rules = "".join(written(tmp_path / "rules").values())
    assert rules.count("runbook_url: https://wiki.example.net/runbooks/Edge") == len(load_alerts())
    assert [left for left in ("github.com", "severity: critical", ".*edge-exporter") if left in rules] == []
    assert 'severity="page"' in (tmp_path / "alertmanager.yml").read_text()
    for done in (
        run("promtool", "check", "rules", *sorted((tmp_path / "rules").glob("*.yml"))),
        run("amtool", "check-config", tmp_path / "alertmanager.yml"),
    ):
        assert done.returncode == 0, done.stdout + done.stderr
