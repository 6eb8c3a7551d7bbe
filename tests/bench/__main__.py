"""Measures the exporter against the peers that are installed: tables on standard output, and all as JSON in a file."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tests.bench.peers import NGINX, PEERS
from tests.bench.report import Table, machine, save
from tests.bench.sections import ON_NGINX, QUICK, SECTIONS, Plan


def main() -> None:
    """Run the measurements that the command line selects."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; all if none is named")
    parser.add_argument("--quick", action="store_true", help="about a minute in all: small sizes, short runs")
    parser.add_argument("--sizes", help="numbers of series, with commas between")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where the JSON goes (%(default)s)")
    given = parser.parse_args()
    if unknown := sorted(set(given.sections) - set(SECTIONS)):
        parser.error(f"no section is named {', '.join(unknown)}; there are: {', '.join(SECTIONS)}")
    plan = QUICK if given.quick else Plan()
    if given.sizes:
        plan = replace(plan, sizes=tuple(int(size) for size in given.sizes.split(",")))
    for peer in PEERS:
        if not peer.is_installed:
            without = f"; so are {', '.join(sorted(ON_NGINX))}, which need it" if peer is NGINX else ""
            sys.stderr.write(f"{peer.name} is not installed, and left out (apt-get install {peer.program}){without}\n")
    tables: list[Table] = []
    sys.stdout.write(f"{machine()}\n\n")
    for name in given.sections or SECTIONS:
        for table in SECTIONS[name](plan) if NGINX.is_installed or name not in ON_NGINX else ():
            table.show()
            tables.append(table)
            save(given.json, tables)


if __name__ == "__main__":
    main()
