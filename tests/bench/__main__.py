"""Measures the exporter against the peers that are installed, and prints tables."""

from dataclasses import replace

import click

from tests.bench.peers import NGINX, PEERS
from tests.bench.report import machine
from tests.bench.sections import QUICK, SECTIONS, Plan


@click.command(help=__doc__)
@click.argument("sections", nargs=-1, type=click.Choice(list(SECTIONS)))
@click.option("--quick", is_flag=True, help="About a minute in all: small sizes, short runs.")
@click.option("--sizes", default="", help="Numbers of series, with commas between.")
def main(sections: tuple[str, ...], sizes: str, *, quick: bool) -> None:
    """Run the measurements that the command line selects."""
    plan = QUICK if quick else Plan()
    if sizes:
        plan = replace(plan, sizes=tuple(map(int, sizes.split(","))))
    for peer in PEERS:
        if not peer.is_installed:
            click.echo(f"{peer.name} is not installed, and left out (apt-get install {peer.program})", err=True)
    if not NGINX.is_installed:
        raise click.ClickException("the platform of all measurements is an nginx")
    click.echo(f"{machine()}\n")
    for name in sections or SECTIONS:
        for table in SECTIONS[name](plan):
            table.show()


if __name__ == "__main__":
    main()
