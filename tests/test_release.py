"""The parts of a release: its version, its notes, and the scripts that the workflows run."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from docs import project_urls

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHANGELOG = (
    "# Changelog\n\n## 0.3.0 (unreleased)\n\n- Later.\n\n## 0.2.0 (2026-11-22)\n\n- Now.\n\n## 0.1.0\n\n- Before.\n"
)


def notes(folder: Path, version: str) -> tuple[str, str, int]:
    """Return the script's output for a version, with a given changelog."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "release-notes", folder / ".ci")
    (folder / "CHANGELOG.md").write_text(CHANGELOG)
    done = subprocess.run([folder / ".ci" / "release-notes", version], capture_output=True, text=True, check=False)
    return done.stdout.strip(), done.stderr.strip(), done.returncode


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.2.0", ("- Now.", "", 0)),
        ("0.3.0", ("", "CHANGELOG.md still calls 0.3.0 unreleased: give its section a date", 1)),
        ("0.4.0", ("", "CHANGELOG.md has no section '## 0.4.0'", 1)),
        ("0.2", ("", "CHANGELOG.md has no section '## 0.2'", 1)),
    ],
)
def test_the_notes_of_a_release_are_its_section_of_the_changelog(
    tmp_path: Path, version: str, expected: tuple[str, str, int]
) -> None:
    assert notes(tmp_path, version) == expected


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_digest_with_its_version_beside_it(workflow: Path) -> None:
    used = re.findall(r"uses: (?!\./)(.*)", workflow.read_text(encoding="utf-8"))
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action)] == []


def test_the_package_index_is_pushed_to_when_everything_else_is_published() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]

    def before(job: str) -> set[str]:
        needed = jobs[job].get("needs", [])
        direct = {needed} if isinstance(needed, str) else set(needed)
        return direct.union(*(before(each) for each in direct))

    assert before("pypi") == set(jobs) - {"pypi"}


def test_another_home_replaces_the_address_in_every_file() -> None:
    source = project_urls.urls()["Source"]
    moved = {
        path: project_urls.with_urls(text, "https://git.example.net/a/b/edge-exporter", "https://docs.example.net/")
        for path, text in project_urls.documents().items()
    }
    folders = ("dashboards", "deploy", "docs", "exporter", "tests", ".ci", ".github")
    files = [*ROOT.glob("*.*"), ROOT / "Dockerfile", *(path for name in folders for path in (ROOT / name).rglob("*.*"))]
    texts = (path for path in files if path.is_file() and path.suffix not in (".png", ".pyc", ".db"))
    left = [path for path in texts if source in (moved.get(path) or path.read_text(encoding="utf-8", errors="replace"))]
    assert left == []
    assert 'Source = "https://git.example.net/a/b/edge-exporter"' in moved[ROOT / "pyproject.toml"]
    assert "site_url: https://docs.example.net/\n" in moved[ROOT / "properdocs.yml"]
