"""The page of what is guaranteed: a row for each family, and the figures that the runs print."""

import re
from fnmatch import fnmatch

import pytest
from click.testing import CliRunner

from exporter.commands.metrics import sections
from exporter.metric import Kind
from tests.golden import ROOT
from tests.guarantees import __main__ as guarantees
from tests.guarantees.__main__ import FIGURES, Figure, main

PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")


def test_each_counter_has_a_row() -> None:
    counters, _, _ = PAGE.partition("## Gauges")
    named = [name for row in counters.splitlines() for name in re.findall(r"`(edge_[a-z_*]+)`", row.split(" | ")[0])]
    families = [info.name for _, _, infos in sections() for info in infos if info.kind is Kind.COUNTER]
    assert [name for name in families if not any(fnmatch(name, pattern) for pattern in named)] == []


def test_each_figure_of_the_page_is_one_that_the_runs_print() -> None:
    rows = re.findall(r"^\| (\w+) +\| (.+?) +\| (.+?) +\|$", PAGE.partition("## The figures")[2], re.MULTILINE)
    assert [(run, figure) for run, figure, _ in rows[1:]] == [(run, one) for run in FIGURES for one in FIGURES[run]]
    assert not any("OUT OF BOUNDS" in value for *_, value in rows)


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_failure_says_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch, exit_code: int) -> None:
    run = (0.5, lambda minutes, seed: iter([Figure(f"{minutes} {seed}", "5", not exit_code)]))
    monkeypatch.setattr(guarantees, "RUNS", {"faults": run})
    done = CliRunner().invoke(main, ["--minutes", "4", "--seed", "7", "--run", "faults"])
    assert (done.exit_code, "2.0 7" in done.output) == (exit_code, True)
    said = "faults failed; to repeat it: make guarantees RUN=faults MINUTES=4 SEED=7"
    assert (said in done.output) is bool(exit_code)


@pytest.mark.parametrize("page", ["README.md", "docs/limitations.md"])
def test_what_is_said_of_counters_elsewhere_points_there(page: str) -> None:
    assert "guarantees.md" in (ROOT / page).read_text(encoding="utf-8")
