"""Calls to the platform are grouped."""

from tests.chaos.calls import Call, Claim, Tally, tallied

SHARDS = {"/zone/1": 1, "/zone/2": 2}


def tally(*events: tuple[str, str | set[int]]) -> Tally:
    """Group events, one each second: a replica, and the path that it called or the shards that it claimed."""
    calls = [Call(at, who, what) for at, (who, what) in enumerate(events) if isinstance(what, str)]
    claims = [Claim(at, who, frozenset(what)) for at, (who, what) in enumerate(events) if isinstance(what, set)]
    return tallied(calls, claims, SHARDS.get)


def test_the_first_poll_of_each_path_after_a_claim_of_its_shard_is_counted_apart() -> None:
    found = tally(
        ("a", {1, 2}),
        ("a", "/zone/1"),
        ("a", "/zone/1"),
        ("a", "/zone/2"),
        ("a", {1}),
        ("a", "/zone/1"),
        ("a", "/zone/2"),
    )
    assert found == Tally(calls=5, first_polls=3)


def test_polls_beside_the_new_holder_are_counted_apart() -> None:
    found = tally(("a", {1}), ("a", "/zone/1"), ("b", {1}), ("a", "/zone/1"), ("b", "/zone/1"), ("b", "/zone/1"))
    assert found == Tally(calls=4, first_polls=2, beside=1)


def test_lists_are_called_first_after_any_claim() -> None:
    found = tally(
        ("a", {1}), ("a", "/search"), ("a", "/search"), ("a", {2}), ("a", "/search"), ("b", {1}), ("b", "/search")
    )
    assert found == Tally(calls=4, first_polls=3, lists=1)
