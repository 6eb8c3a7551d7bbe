"""Runs every property test again and again with new examples: `python -m tests.fuzz [--minutes N] [PATH...]`.

The property tests are those with Hypothesis: answers of the platform, configuration files, web configuration files,
flags and variables, requests to our own server, label values of counters, and so on. Examples that failed are kept in
`.fuzz/`, and a later run begins with them. Ends with 1 as soon as one failed.
"""

import random
import subprocess
import sys
import time
from itertools import chain, count
from pathlib import Path

import click

REPOSITORY = Path(__file__).parents[1]
# Many examples take longer than a test of the suite may.
PYTEST = (
    *(sys.executable, "-m", "pytest", "-m", "hypothesis", "-q", "--no-header"),
    *("--hypothesis-profile=fuzz", "--timeout=0", "-o", "faulthandler_timeout=0"),
)


@click.command(help=__doc__)
@click.option("--minutes", default=10.0, show_default=True, help="How long; 0 is for ever.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def main(minutes: float, paths: tuple[Path, ...]) -> None:
    """Run one file after another, in an order by chance, until the time is over."""
    ends = time.monotonic() + (minutes * 60 or float("inf"))
    files = paths or [file for file in REPOSITORY.glob("tests/**/test_*.py") if "@given" in file.read_text()]
    # A new order in each round, so that what comes last is not always the same.
    for file in chain.from_iterable(random.sample(files, len(files)) for _ in count()):
        left = ends - time.monotonic()
        try:
            limit = None if minutes == 0 else max(left, 0.0)
            code = subprocess.run([*PYTEST, file], cwd=REPOSITORY, check=False, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            break
        if code:
            sys.exit(code)


if __name__ == "__main__":
    main()
