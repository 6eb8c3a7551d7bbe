"""Measures the exporter against the peers that are installed: tables on standard output, and all as JSON in a file."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from tests.bench.peers import NGINX, PEERS
from tests.bench.report import Table, machine, save
from tests.bench.sections import ON_NGINX, QUICK, SECTIONS, Plan


@click.command(help=__doc__)
@click.argument("sections", nargs=-1, type=click.Choice(list(SECTIONS)))
@click.option("--quick", is_flag=True, help="About a minute in all: small sizes, short runs.")
@click.option("--sizes", default="", help="Numbers of series, with commas between.")
@click.option("--json", "file", type=click.Path(path_type=Path), default="bench.json", help="Where the JSON goes.")
def main(sections: tuple[str, ...], sizes: str, file: Path, *, quick: bool) -> None:
    """Run the measurements that the command line selects."""
    plan = QUICK if quick else Plan()
    if sizes:
        plan = replace(plan, sizes=tuple(map(int, sizes.split(","))))
    for peer in PEERS:
        if not peer.is_installed:
            without = f"; so are {', '.join(sorted(ON_NGINX))}, which need it" if peer is NGINX else ""
            sys.stderr.write(f"{peer.name} is not installed, and left out (apt-get install {peer.program}){without}\n")
    tables: list[Table] = []
    sys.stdout.write(f"{machine()}\n\n")
    for name in sections or SECTIONS:
        for table in SECTIONS[name](plan) if NGINX.is_installed or name not in ON_NGINX else ():
            table.show()
            tables.append(table)
            save(file, tables)


if __name__ == "__main__":
    main()
