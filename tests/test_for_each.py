import inspect

import pytest

from tests.for_each import for_each


def test_a_failure_names_every_case_that_does_not_hold() -> None:
    @for_each("number", [1, 2, 3, 4], name=lambda number: f"number {number}")
    def check(number: int, limit: int) -> None:
        assert number <= limit

    assert list(inspect.signature(check).parameters) == ["limit"]
    check(limit=4)
    with pytest.raises(ExceptionGroup, match="2 of 4 cases") as failed:
        check(limit=2)
    assert [error.__notes__ for error in failed.value.exceptions] == [["in case: number 3"], ["in case: number 4"]]
