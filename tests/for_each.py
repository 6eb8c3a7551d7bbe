"""Makes one test of a check with many cases."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Check = Callable[..., None]


def for_each(argument: str, cases: Sequence[T], name: Callable[[T], str]) -> Callable[[Check], Check]:
    """Run a check on every case within one test; a failure names every failed case.

    With hundreds of cases, a separate test for each would take longer to set up than to run.

    Args:
        argument: the check's parameter that takes the case; its other parameters are fixtures.
        cases: the cases.
        name: returns the name of a case.
    """

    def decorate(check: Check) -> Check:
        def test(**fixtures: Any) -> None:
            failures: list[Exception] = []
            for case in cases:
                try:
                    check(**fixtures, **{argument: case})
                except Exception as error:  # noqa: BLE001 - all are raised below
                    error.add_note(f"in case: {name(case)}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(cases)} cases", failures)

        signature = inspect.signature(check)
        assert cases
        fixtures = [parameter for parameter in signature.parameters.values() if parameter.name != argument]
        test.__name__, test.__qualname__, test.__module__ = check.__name__, check.__qualname__, check.__module__
        test.__doc__ = check.__doc__
        test.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return test

    return decorate
