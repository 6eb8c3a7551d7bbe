"""Which targets of a collector are due when."""

from dataclasses import replace
from typing import Any

import pytest

from exporter.polling.timetable import Timetable
from exporter.targets.target import Target

QUERY = Target("", "query", "orders/open", interval=3600.0)


def test_a_target_that_was_renamed_stays_due_when_it_was() -> None:
    due = Timetable()
    due.put(QUERY, 5000.0, 1)
    renamed = replace(QUERY, name="open orders")
    assert due.replace({renamed: renamed}) == []
    assert [(at, target.name) for at, _, target in due.pop(5000.0)] == [(5000.0, "open orders")]


def test_a_target_with_another_interval_of_its_own_is_due_anew() -> None:
    due = Timetable()
    due.put(QUERY, 5000.0, 1)
    faster = replace(QUERY, interval=60.0)
    assert due.replace({faster: faster}) == [faster]
    due.put(faster, 100.0, 2)
    assert due.replace({faster: faster}) == []
    assert [at for at, _, _ in due.pop(5000.0)] == [100.0]


@pytest.mark.parametrize("change", [{"attributes": {"sql": "SELECT 2 AS value"}}, {"watched": ("stable",)}])
def test_a_target_of_which_another_thing_is_asked_is_due_anew(change: dict[str, Any]) -> None:
    due = Timetable()
    due.put(QUERY, 5000.0, 1)
    changed = replace(QUERY, **change)
    assert due.replace({changed: changed}) == [changed]


def test_a_target_that_is_gone_is_not_due() -> None:
    due = Timetable()
    due.put(QUERY, 5000.0, 1)
    assert due.replace({}) == []
    assert list(due.pop(5000.0)) == []
