"""Lists of what users see: the events of the log, all other texts, and the stable metrics."""

import pytest

from exporter.commands.metrics import sections, stability
from tests.golden import ROOT, assert_golden
from tests.texts import listed

LISTED = ROOT / "tests" / "listed"
STABLE = ROOT / "tests" / "stable_metrics.txt"
HEADING = "Changes that need attention:\n"


@pytest.mark.parametrize("name", ["logs", "messages"])
def test_the_texts_of_the_package_are_those_of_the_list(name: str) -> None:
    assert_golden(listed(name), LISTED / f"{name}.txt")


def test_a_change_of_a_stable_metric_stands_in_the_changelog() -> None:
    infos = (info for _, _, found in sections() for info in found if stability(info) == "stable")
    declared = sorted(f"{info.name} {info.kind} {','.join(info.labels)}".rstrip() for info in infos)
    unreleased = (ROOT / "CHANGELOG.md").read_text().partition(" (unreleased)\n")[2].partition("\n## ")[0]
    announced = unreleased.partition(HEADING)[2].partition(":\n\n")[0]
    changed = [line for line in STABLE.read_text().splitlines() if line not in declared]
    silent = [line for line in changed if f"`{line.split()[0]}`" not in announced]
    assert silent == [], f"changed without an entry under {HEADING.strip()!r} in CHANGELOG.md"
    assert_golden("\n".join(declared) + "\n", STABLE)
