"""The number of shards that each exporter should hold."""

import pytest

from exporter.counters.lease import fair_share
from exporter.counters.lease_table import Holding, Renewal
from exporter.counters.state_database import Group
from tests.for_each import for_each


def shares(total: int, held: dict[str, int], *, fixed: int = 0) -> dict[str, int]:
    """Return each member's fair share, by its present number; exporters with a fixed index hold `fixed` shards."""
    holders = [*(name for name, count in held.items() for _ in range(count)), *("fixed" for _ in range(fixed))]
    holdings = tuple(Holding(shard, total, holder, 1) for shard, holder in enumerate(holders))
    renewal = Renewal(frozenset(), holdings, frozenset(held))
    return {name: fair_share(renewal, Group("default", total, name)) for name in held}


@pytest.mark.parametrize(
    ("total", "held", "expected"),
    [
        (8, {"a": 0}, {"a": 8}),
        (8, {"a": 8, "b": 0}, {"a": 4, "b": 4}),
        (8, {"a": 2, "b": 3, "c": 3}, {"a": 2, "b": 3, "c": 3}),
        # One comes: as few move as possible.
        (10, {"a": 4, "b": 3, "c": 3, "d": 0}, {"a": 3, "b": 3, "c": 2, "d": 2}),
        # One has gone.
        (8, {"a": 3, "b": 3}, {"a": 4, "b": 4}),
        # Spares.
        (2, {"a": 1, "b": 1, "c": 0}, {"a": 1, "b": 1, "c": 0}),
    ],
)
def test_shards_are_shared_evenly(total: int, held: dict[str, int], expected: dict[str, int]) -> None:
    assert shares(total, held) == expected


def test_what_an_exporter_with_a_fixed_index_holds_is_not_shared() -> None:
    assert shares(8, {"a": 0, "b": 0}, fixed=2) == {"a": 3, "b": 3}


@for_each("members", [*range(1, 12)], name=str)
def test_all_shares_together_are_all_shards_whoever_holds_what(members: int) -> None:
    for total in range(1, 20):
        held = {f"replica-{number}": max(0, total - number * 3) % 4 for number in range(members)}
        while sum(held.values()) > total:
            held[max(held, key=lambda name: held[name])] -= 1
        found = shares(total, held)
        assert sum(found.values()) == total
        assert max(found.values()) - min(found.values()) <= 1
