"""A pytest plugin for `tests.fuzz.run`: many examples, which are kept, in a new order, until the time is over."""

import os
import random
import time
from pathlib import Path

import pytest

ENDS, SEED = "FUZZ_ENDS", "FUZZ_SEED"
PROFILE = "fuzz"
CORPUS = Path(__file__).parents[2] / ".fuzz"
EXAMPLES = 300


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Register the profile before Hypothesis' own plugin reads it."""
    # Imported by a plugin earlier than this, pytest could not prepare the library for its own reports.
    from hypothesis import HealthCheck, settings  # noqa: PLC0415
    from hypothesis.database import DirectoryBasedExampleDatabase  # noqa: PLC0415

    settings.register_profile(
        PROFILE,
        max_examples=EXAMPLES,
        deadline=None,
        database=DirectoryBasedExampleDatabase(CORPUS),
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests, so that a run that ends within a round does not always skip the same ones."""
    random.Random(os.environ[SEED]).shuffle(items)  # noqa: S311 - repeatable


def pytest_runtest_protocol() -> bool | None:
    """Skip the remaining tests when the time is over."""
    return True if time.monotonic() >= float(os.environ[ENDS]) else None
