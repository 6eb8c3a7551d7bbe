"""Stable metrics keep their name, type and labels, unless the changelog tells users of the change."""

from pathlib import Path

from exporter.commands.metrics import sections, stability
from tests.golden import ROOT, assert_golden

STABLE = Path(__file__).parent / "stable_metrics.txt"
HEADING = "Changes that need attention:\n"


def declared() -> list[str]:
    """Return a line for each stable metric: its name, type and labels."""
    infos = (info for _, _, found in sections() for info in found if stability(info) == "stable")
    return sorted(f"{info.name} {info.kind} {','.join(info.labels)}".rstrip() for info in infos)


def test_a_change_of_a_stable_metric_stands_in_the_changelog() -> None:
    unreleased = (ROOT / "CHANGELOG.md").read_text().partition("## Unreleased\n")[2].partition("\n## ")[0]
    announced = unreleased.partition(HEADING)[2].partition(":\n\n")[0]
    changed = [line for line in STABLE.read_text().splitlines() if line not in declared()]
    silent = [line for line in changed if f"`{line.split()[0]}`" not in announced]
    assert silent == [], f"changed without an entry under {HEADING.strip()!r} in CHANGELOG.md"
    assert_golden("\n".join(declared()) + "\n", STABLE)
