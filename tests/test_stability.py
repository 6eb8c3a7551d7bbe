"""Stable metrics keep their name, type and labels, unless the changelog tells users of the change."""

from pathlib import Path

import pytest

from exporter.commands.metrics import sections, stability
from tests.golden import ROOT, assert_golden

STABLE = Path(__file__).parent / "stable_metrics.txt"
HEADING = "Changes that need attention:\n"


def declared() -> list[str]:
    """Return a line for each stable metric: its name, type and labels."""
    infos = (info for _, _, found in sections() for info in found if stability(info) == "stable")
    return sorted(f"{info.name} {info.kind} {','.join(info.labels)}".rstrip() for info in infos)


def attention(changelog: str) -> str:
    """Return what the changelog says of changes since the last release that need attention."""
    unreleased = changelog.partition("## Unreleased\n")[2].partition("\n## ")[0]
    return unreleased.partition(HEADING)[2].partition(":\n\n")[0]


def unannounced(before: list[str], now: list[str], announced: str) -> list[str]:
    """Return the stable metrics that are not what they were, and that no announcement names."""
    return [line for line in before if line not in now and f"`{line.split()[0]}`" not in announced]


def test_a_change_of_a_stable_metric_stands_in_the_changelog() -> None:
    changed = unannounced(STABLE.read_text().splitlines(), declared(), attention((ROOT / "CHANGELOG.md").read_text()))
    assert changed == [], f"changed without an entry under {HEADING.strip()!r} in CHANGELOG.md"
    assert_golden("\n".join(declared()) + "\n", STABLE)


@pytest.mark.parametrize(
    ("now", "said", "found"),
    [
        (["a gauge zone"], "", []),
        (["a gauge zone", "b gauge"], "", []),
        (["a counter zone"], "", ["a gauge zone"]),
        (["a gauge zone,account"], "- `a` has another label", []),
        (["c gauge zone"], "- `b` is gone", ["a gauge zone"]),
    ],
)
def test_a_change_is_another_type_or_other_labels_or_another_name(now: list[str], said: str, found: list[str]) -> None:
    changelog = f"# Changelog\n\n## Unreleased\n\nNew:\n\n- `a`\n\n{HEADING}\n{said}\n\nFixed:\n\n- `a`\n\n## 0.1\n"
    assert unannounced(["a gauge zone"], now, attention(changelog)) == found
