"""Runs the benchmark: tables on standard output, and everything as JSON in a file."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tests.bench import calls, polls, scrapes, whole
from tests.bench.peers import PEERS
from tests.bench.plan import QUICK, Plan
from tests.bench.report import Report

SECTIONS: dict[str, Callable[[Plan, Report], None]] = {
    "scrape": scrapes.measure,
    "repoll": scrapes.measure_repoll,
    "calls": calls.measure,
    "polls": polls.measure,
    "memory": whole.measure_memory,
    "start": whole.measure_start,
    "idle": whole.measure_idle,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the measurements that the command line selects."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; all where none is named"
    )
    parser.add_argument("--quick", action="store_true", help="about a minute in all: small sizes, short runs")
    parser.add_argument("--sizes", help="numbers of series, with commas between")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where the JSON goes (%(default)s)")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.sections) - set(SECTIONS))
    if unknown:
        parser.error(f"no section is named {', '.join(unknown)}; there are: {', '.join(SECTIONS)}")
    plan = QUICK if given.quick else Plan()
    if given.sizes:
        plan = replace(plan, sizes=tuple(int(size) for size in given.sizes.split(",")))
    for peer in PEERS:
        if not peer.is_installed:
            sys.stderr.write(f"{peer.name} is not installed, and left out (apt-get install {peer.program})\n")
    report = Report(sys.stdout)
    for name, measure in SECTIONS.items():
        if not given.sections or name in given.sections:
            measure(plan, report)
            report.save(given.json)


if __name__ == "__main__":
    main()
