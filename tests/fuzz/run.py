"""Runs every property test again and again with new examples: `python -m tests.fuzz.run [--minutes N] [PATH...]`.

The property tests are the counters' model, and those with Hypothesis' `@given`: answers of the platform, configuration
files, web configuration files, flags and variables, requests to our own server, and so on. Examples of the latter that
failed are kept in `.fuzz/`, and a later run begins with them. Ends with 1 at the end of the first round in which one
failed.

It is also the pytest plugin of its rounds: many examples, in a new order, until the time is over.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

REPOSITORY = Path(__file__).parents[2]
ENDS, SEED = "FUZZ_ENDS", "FUZZ_SEED"
EXAMPLES = 300
# Many examples take longer than a test of the suite may.
PYTEST = (
    *(sys.executable, "-m", "pytest", "-p", "tests.fuzz.run", "-m", "hypothesis", "-q", "--no-header"),
    *("--hypothesis-profile=fuzz", "--timeout=0", "-o", "faulthandler_timeout=0"),
)


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Register the profile before Hypothesis' own plugin reads it."""
    # Imported by a plugin earlier than this, pytest could not prepare the library for its own reports.
    from hypothesis import HealthCheck, settings  # noqa: PLC0415
    from hypothesis.database import DirectoryBasedExampleDatabase  # noqa: PLC0415

    settings.register_profile(
        "fuzz",
        max_examples=EXAMPLES,
        deadline=None,
        database=DirectoryBasedExampleDatabase(REPOSITORY / ".fuzz"),
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests, so that a run that ends within a round does not always skip the same ones."""
    random.Random(os.environ[SEED]).shuffle(items)  # noqa: S311 - repeatable


def pytest_runtest_protocol() -> bool | None:
    """Skip the remaining tests when the time is over."""
    return True if time.monotonic() >= float(os.environ[ENDS]) else None


def fuzz(minutes: float, seed: int, paths: Sequence[str]) -> int:
    """Run rounds until the time is over (0 minutes: without an end); return the exit code of the last round."""
    ends = time.monotonic() + minutes * 60 if minutes else float("inf")
    chance = random.Random(seed)  # noqa: S311 - repeatable
    rounds = code = 0
    while time.monotonic() < ends and not code:
        own = str(chance.randrange(2**32))
        environ = {**os.environ, ENDS: str(ends), SEED: own}
        # A process a round, whose memory ends with it.
        command = [*PYTEST, f"--hypothesis-seed={own}", *paths]
        code = subprocess.run(command, cwd=REPOSITORY, env=environ, check=False).returncode
        rounds += 1
    sys.stdout.write(f"rounds: {rounds}, seed: {seed}\n")
    return code


@click.command(help=__doc__)
@click.option("--minutes", default=10.0, show_default=True, help="How long; 0 is for ever.")
@click.option("--seed", type=int, help="Of the order and the examples; random by default.")
@click.argument("paths", nargs=-1)
def main(minutes: float, seed: int | None, paths: tuple[str, ...]) -> None:
    """Read the arguments, and run."""
    chosen = random.SystemRandom().randrange(2**32) if seed is None else seed
    sys.exit(fuzz(minutes, chosen, paths or ("tests",)))


if __name__ == "__main__":
    main()
