"""Runs every property test again and again with new examples: `python -m tests.fuzz.run [--minutes N] [PATH...]`.

The property tests are the counters' model, and those with Hypothesis' `@given`: answers of the platform, configuration
files, web configuration files, flags and variables, requests to our own server, and so on. Examples of the latter that
failed are kept in `.fuzz/`, and a later run begins with them. Ends with 1 at the end of the first round in which one
failed.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz import plugin

REPOSITORY = Path(__file__).parents[2]


def fuzz(minutes: float, seed: int, paths: Sequence[str]) -> int:
    """Run rounds until the time is over (0 minutes: without an end); return the exit code of the last round."""
    ends = time.monotonic() + minutes * 60 if minutes else float("inf")
    chance = random.Random(seed)  # noqa: S311 - repeatable
    # Many examples take longer than a test of the suite may.
    unbounded = ("--timeout=0", "-o", "faulthandler_timeout=0")
    options = ("-m", "hypothesis", "-q", "--no-header", f"--hypothesis-profile={plugin.PROFILE}", *unbounded)
    rounds = code = 0
    while time.monotonic() < ends and not code:
        own = chance.randrange(2**32)
        # A process a round, whose memory ends with it.
        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", plugin.__name__, *options, f"--hypothesis-seed={own}", *paths],
            cwd=REPOSITORY,
            env={
                **os.environ,
                plugin.ENDS: str(ends),
                plugin.SEED: str(own),
                "MODEL_EXAMPLES": str(plugin.EXAMPLES),
            },
            check=False,
        ).returncode
        rounds += 1
    sys.stdout.write(f"rounds: {rounds}, seed: {seed}\n")
    return code


def main() -> None:
    """Read the arguments, and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; 0 is for ever (%(default)s)")
    parser.add_argument("--seed", type=int, help="of the order and the examples; random by default")
    parser.add_argument("paths", nargs="*", default=["tests"], help="test files or folders (%(default)s)")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(2**32)
    sys.exit(fuzz(given.minutes, seed, given.paths))


if __name__ == "__main__":
    main()
