"""Runs the simulation with each planted fault, and prints in how many CPU seconds it is found.

python -m tests.simulation [NAME]...
"""

import os
import resource
import subprocess
import sys

import click

from tests.simulation.planted import PLANTS

# Of processor time, for each of them.
MOST_SECONDS = 300


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(list(PLANTS)))
@click.option("--seed", default="1", help="The seed of the examples.")
def main(names: tuple[str, ...], seed: str) -> None:
    """Plant the faults one after another; fail if one is not found, or if a fault is found without any."""
    wrong = [name for name in ("", *(names or PLANTS)) if _is_found(name, seed) != bool(name)]
    if wrong:
        raise click.ClickException(f"not as expected: {', '.join(wrong)}")


def _is_found(name: str, seed: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}"]
    given = {**os.environ, "PLANTED": name, "SEED": seed, "EXAMPLES": "100" if name else "20"}
    before = _cpu_seconds()
    ran = subprocess.run(
        ["prlimit", f"--cpu={MOST_SECONDS}", *command, "tests/simulation/test_year.py"],
        env=given,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    seconds = _cpu_seconds() - before
    said = next((line for line in reversed(ran.stdout.splitlines()) if line.startswith("E  ") and "rror" in line), "")
    click.echo(f"{name or 'nothing planted':45} {seconds:6.1f} s  {said.strip('E ')[:150]}")
    return ran.returncode == 1


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
