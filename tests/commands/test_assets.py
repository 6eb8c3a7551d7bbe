"""`assets`: the written files are the shipped ones with the requested changes, and other programs accept them."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

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
    invoke("assets", "rules", tmp_path)
    for path in tmp_path.iterdir():  # as an earlier version wrote them
        head, _, text = path.read_text().partition("\n")
        text += "# an earlier version\n"
        digest = hashlib.sha256(text.encode()).hexdigest()
        path.write_text(re.sub(r"[0-9a-f]{64}", digest, head) + "\n" + text)
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


def test_a_folder_that_cannot_be_had_is_one_line(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    assert invoke("assets", "rules", taken) == Ended("", f"{taken}: File exists\n", 1)
    assert invoke("assets", "rules", taken / "below") == Ended("", f"{taken / 'below'}: Not a directory\n", 1)


@pytest.mark.real
def test_promtool_and_amtool_accept_what_the_documented_commands_write_and_edit(tmp_path: Path) -> None:
    guide = (DEPLOY / "rules.md").read_text().partition("## Prometheus")[2].partition("\n## ")[0]
    edits = re.findall(r"^sed .*", guide.replace("/etc/prometheus", str(tmp_path)), re.MULTILINE)
    invoke("assets", "rules", tmp_path / "rules")
    invoke("assets", "alertmanager", tmp_path)
    for edit in edits:
        subprocess.run(["sh", "-c", edit.replace("/etc/alertmanager", str(tmp_path))], check=True)
    rules = "".join(written(tmp_path / "rules").values())
    assert rules.count("runbook_url: http://exporter.internal:9877/runbooks/Edge") == len(load_alerts())
    assert [left for left in ("github.com", "severity: critical", ".*edge-exporter") if left in rules] == []
    assert 'severity="page"' in (tmp_path / "alertmanager.yml").read_text()
    checks: tuple[tuple[str | Path, ...], ...] = (
        (find_promtool(), "check", "rules", *sorted((tmp_path / "rules").glob("*.yml"))),
        (find("amtool"), "check-config", tmp_path / "alertmanager.yml"),
    )
    for check in checks:
        done = subprocess.run(check, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
