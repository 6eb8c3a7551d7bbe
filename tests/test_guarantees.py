"""The page of what is guaranteed: a row for each family."""

import re
from fnmatch import fnmatch

from exporter.commands.metrics import sections
from exporter.metric import Kind
from tests.golden import ROOT

PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")


def test_each_counter_has_a_row() -> None:
    counters, _, _ = PAGE.partition("## Gauges")
    named = [name for row in counters.splitlines() for name in re.findall(r"`(edge_[a-z_*]+)`", row.split(" | ")[0])]
    families = [info.name for _, _, infos in sections() for info in infos if info.kind is Kind.COUNTER]
    assert [name for name in families if not any(fnmatch(name, pattern) for pattern in named)] == []


def test_what_is_said_of_counters_elsewhere_points_there() -> None:
    assert all("guarantees.md" in (ROOT / page).read_text() for page in ("README.md", "docs/limitations.md"))
