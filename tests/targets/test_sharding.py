"""The shard that a target belongs to."""

import pytest

from exporter.targets.sharding import Shard, owner
from exporter.targets.target import Target, TargetKey

KEYS = [f"main/dns_zone/{number}" for number in range(5_000)]


def test_the_queries_of_a_database_belong_to_its_shard_and_its_client() -> None:
    targets = [Target("", "database", "eu/a"), Target("", "query", "eu/a/open"), Target("", "query", "eu/a/late")]
    assert {(Shard(0, 64).owner_of(one.key), one.client_name) for one in targets} == {(56, "database:eu/a")}
    assert Target("", "query", "*").client_name == "database:*", "as explanations name all queries"


@pytest.mark.parametrize("total", [1, 2, 3, 4, 8, 16])
def test_the_share_that_moves_to_a_further_shard_is_its_own_and_no_more(total: int) -> None:
    before = [owner(key, total) for key in KEYS]
    after = [owner(key, total + 1) for key in KEYS]
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {total}, "keys move to the new shard alone"
    assert len(moved) / len(KEYS) == pytest.approx(1 / (total + 1), rel=0.2)


def test_an_owner_is_the_same_in_every_process_and_version() -> None:
    assert [owner(f"main/dns_zone/{number}", 4) for number in range(101, 109)] == [1, 2, 3, 1, 2, 1, 1, 0]
    # A rate limit whose shield zone is not known is assigned by its own id.
    limits = [Shard(0, 4).owner_of(TargetKey.of("main", "rate_limit", str(number))) for number in range(1, 6)]
    assert limits == [owner(f"main/rate_limit/{number}", 4) for number in range(1, 6)] == [0, 0, 3, 0, 1]
