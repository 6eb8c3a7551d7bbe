"""When each target of a collector is due."""

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest

from exporter.polling.timetable import Timetable
from exporter.targets.target import Target

QUERY = Target("", "query", "orders/open", interval=3600.0)


@pytest.mark.parametrize(
    ("change", "due_at"),
    [
        # A target that was renamed stays due when it was; one of which another thing is asked is due anew.
        ({"name": "open orders"}, 5000.0),
        ({"interval": 60.0}, None),
        ({"attributes": {"sql": "SELECT 2 AS value"}}, None),
        ({"watched": ("stable",)}, None),
    ],
)
def test_a_target_that_has_changed_is_due_when_it_was_or_anew(change: dict[str, Any], due_at: float | None) -> None:
    due = Timetable("database_query")
    due.put(QUERY, 5000.0)
    changed = replace(QUERY, **change)
    assert due.replace({changed: changed}) == ([changed] if due_at is None else [])
    if due_at is None:
        due.put(changed, due_at := 100.0)
    assert due.replace({changed: changed}) == []
    assert [(at, target.name) for at, target in due.pop(5000.0)] == [(due_at, changed.name)]


def test_targets_that_are_kept_are_due_in_the_order_of_their_times_and_one_that_is_gone_is_not() -> None:
    due = Timetable("database_query")
    assert due.earliest() is None
    targets = {target: target for target in (replace(QUERY, id=f"orders/{number}") for number in range(4))}
    for target, at in zip(targets, (4000.0, 3000.0, 1000.0, 2000.0), strict=True):
        due.put(target, at)
    assert due.replace(targets) == []
    assert due.earliest() == 1000.0
    due.put(next(iter(targets)), 5000.0)
    assert [at for at, _ in due.pop(5000.0)] == [1000.0, 2000.0, 3000.0, 5000.0]
    assert due.replace({}) == []
    assert list(due.pop(5000.0)) == []


def zones(account: str, count: int) -> list[Target]:
    return [Target(account, "dns_zone", str(number)) for number in range(1, count + 1)]


def timetable(*targets: Target, collector: str = "dns_statistics") -> Timetable:
    due = Timetable(collector)
    for _ in range(2):
        due.replace({target: target for target in targets})
    return due


def test_an_accounts_targets_are_polled_evenly_and_in_the_order_of_the_exposition() -> None:
    first, second = zones("first", 3000), zones("second", 40)
    due = timetable(*reversed(first), *second)
    for targets in (first, second):
        phases = [due.phase(target) for target in targets]
        steps = [(later - earlier) % 1.0 for earlier, later in pairwise((*phases, phases[0]))]
        assert steps == pytest.approx([1 / len(targets)] * len(targets))


def test_a_further_target_moves_the_others_little() -> None:
    targets = zones("main", 100)
    before, after = timetable(*targets[1:]), timetable(*targets)
    moves = [abs(after.phase(target) - before.phase(target)) for target in targets[1:]]
    assert all(min(move, 1 - move) <= 0.0102 for move in moves)


def test_collectors_and_accounts_begin_at_different_moments() -> None:
    each = [(zones(account, 1)[0], collector) for account, collector in product("ab", ("dns_statistics", "scripts"))]
    assert len({timetable(target, collector=collector).phase(target) for target, collector in each}) == 4
