"""Runs every property test again and again with new examples: `python -m tests.fuzz.run [--minutes N] [PATH...]`.

The property tests are those with Hypothesis' `@given`: answers of the platform, configuration files, web configuration
files, flags and variables, requests to our own server, SQL texts and so on. Their examples are kept in `.fuzz/`, so
that a later run begins with those that failed. Ends with 1 where one failed.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

REPOSITORY = Path(__file__).parents[2]
CORPUS = REPOSITORY / ".fuzz"
PROFILE = "fuzz"
EXAMPLES = 2_000


class Round:
    """A pytest plugin: runs the tests in a new order, ends when the time is over, and notes what failed."""

    def __init__(self, chance: random.Random, is_over: Callable[[], bool]) -> None:
        self.run = 0
        self.failed: list[str] = []
        self._chance = chance
        self._is_over = is_over

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Shuffle, so that a run that ends within a round does not always leave out the same tests."""
        self._chance.shuffle(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test, and note its name where it failed."""
        self.run += report.when == "call"
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """End the round when the time is over."""
        if self._is_over():
            item.session.shouldstop = "the time is over"


def fuzz(minutes: float, paths: Sequence[str], seed: int) -> int:
    """Run rounds until the time is over; 0 minutes mean for ever. Returns the exit code."""
    ends = time.monotonic() + minutes * 60 if minutes else float("inf")
    chance = random.Random(seed)  # noqa: S311 - repeatable
    rounds = runs = 0
    failed: set[str] = set()
    while time.monotonic() < ends and not failed:
        current = Round(chance, lambda: time.monotonic() >= ends)
        options = ["-m", "hypothesis", "-q", "--no-header", "-p", "no:cacheprovider", f"--hypothesis-profile={PROFILE}"]
        code = pytest.main(
            [*options, f"--hypothesis-seed={chance.randrange(2**32)}", "--rootdir", str(REPOSITORY), *paths],
            plugins=[current],
        )
        if code == pytest.ExitCode.INTERRUPTED and not current.failed and time.monotonic() < ends:
            break
        rounds, runs = rounds + 1, runs + current.run
        failed |= set(current.failed)
    sys.stdout.write(f"\n{runs} runs of property tests in {rounds} rounds, seed {seed}; {len(failed)} failed\n")
    sys.stdout.writelines(f"  {name}\n" for name in sorted(failed))
    return 1 if failed or not runs else 0


def main() -> None:
    """Read the arguments, and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; 0 is for ever (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the order and of the examples; random by default")
    parser.add_argument("paths", nargs="*", default=["tests"], help="test files or folders (%(default)s)")
    given = parser.parse_args()
    os.chdir(REPOSITORY)
    settings.register_profile(
        PROFILE,
        max_examples=EXAMPLES,
        deadline=None,
        database=DirectoryBasedExampleDatabase(CORPUS),
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(2**32)
    sys.exit(fuzz(given.minutes, given.paths, seed))


if __name__ == "__main__":
    main()
