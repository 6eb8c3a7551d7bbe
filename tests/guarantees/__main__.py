"""Repeats the runs behind docs/guarantees.md, and prints their figures as that page shows them.

python -m tests.guarantees --minutes 30 --seed 1     every run
python -m tests.guarantees --run faults --seed 7     one of them

Ends with 1 where a figure is out of bounds, and says how to repeat that run.
"""

import asyncio
import contextlib
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click

from tests.bench.report import Table
from tests.chaos.scenario import Scenario, Size
from tests.fuzz.run import fuzz
from tests.postgres import postgres_running
from tests.soak.run import figures, soak

MINUTES_A_MUTANT = 10.0


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a run found; `is_good` says whether it is within its bound."""

    name: str
    value: str
    is_good: bool = True


def takeovers(minutes: float, seed: int) -> Iterator[Figure]:
    """Exporters that share a PostgreSQL under faults, compared with one that nothing disturbs."""
    size = Size(seconds=minutes * 60, seed=seed)
    with tempfile.TemporaryDirectory() as folder, postgres_running(Path(folder)) as postgres:
        report = asyncio.run(Scenario(size, Path(folder), postgres, _progress).run())
    happened = report["events"]
    half, most = report["all_gaps"]
    yield Figure("faults", ", ".join(f"{number} {name}" for name, number in happened.items()))
    yield Figure("counters compared", str(report["series"]), report["series"] > 0)
    yield Figure("counters that differ at the end", str(len(report["differences"])), not report["differences"])
    yield Figure("samples lower than one before", str(len(report["falls"])), not report["falls"])
    yield Figure("counters that two exporters served at once", str(len(report["doubles"])), not report["doubles"])
    yield Figure("gap of a counter, p50 and p99 (lease of 5 s)", f"{half:.1f} s, {most:.1f} s")


def faults(minutes: float, seed: int) -> Iterator[Figure]:
    """One exporter, whose platform has faults of every kind."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        seen = asyncio.run(soak(minutes, seed, Path(folder)))
    # Those that follow are of how it runs, and not of its counters.
    for name, value, _, is_good in islice(figures(seen), 7):
        yield Figure(name, value, is_good)


def examples(minutes: float, seed: int) -> Iterator[Figure]:
    """The property tests with new examples: the counters' model, answers, files, requests."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = fuzz(minutes, seed, ["tests"])
    rounds = re.search(r"rounds: (\d+)", said.getvalue())
    yield Figure("minutes of examples", f"{minutes:g}")
    yield Figure("rounds", rounds[1] if rounds else "0", rounds is not None)
    yield Figure("rounds in which a property failed", str(int(code != 0)), code == 0)


def mutants(minutes: float, _seed: int) -> Iterator[Figure]:
    """Small faults put into the code, by the commit's own lot, and whether a test finds each."""
    count = max(1, int(minutes / MINUTES_A_MUTANT))
    command = [sys.executable, "-m", "tests.mutants", "--count", str(count)]
    said = subprocess.run(command, check=False, capture_output=True, text=True)
    _progress(said.stdout + said.stderr)
    last = (said.stdout.splitlines() or [""])[-1]
    found = re.match(r"(\d+) of (\d+) killed; survivors: (.*)", last)
    yield Figure("faults put into the code", found[2] if found else "0", found is not None)
    yield Figure("of these found by a test", found[1] if found else "0", found is not None)


# Run → the part of the time that it gets, and the run. Mutants take as long as the tests need.
RUNS: Mapping[str, tuple[float, Callable[[float, int], Iterator[Figure]]]] = {
    "takeovers": (0.5, takeovers),
    "faults": (0.25, faults),
    "examples": (0.25, examples),
    "mutants": (1.0, mutants),
}


def repeated(names: tuple[str, ...], minutes: float, seed: int, table: Table) -> list[str]:
    """Do some of the runs, and add their figures to a table; return those that failed."""
    failed: list[str] = []
    for name in names or tuple(RUNS):
        share, run = RUNS[name]
        try:
            found = list(run(minutes * share, seed))
        except Exception as error:  # noqa: BLE001 - a run that breaks is repeated like one that finds a fault
            found = [Figure("broke", repr(error), is_good=False)]
        for figure in found:
            table.add(name, figure.name, figure.value if figure.is_good else f"{figure.value} OUT OF BOUNDS")
        if not all(figure.is_good for figure in found):
            failed.append(name)
    return failed


def _progress(text: str) -> None:
    click.echo(text, err=True)


@click.command()
@click.option("--minutes", type=float, default=30.0, show_default=True, help="How long the runs take, beside mutants.")
@click.option("--seed", type=int, default=1, show_default=True, help="Which faults and examples.")
@click.option("--run", "names", multiple=True, type=click.Choice(list(RUNS)), help="Only this run; may be repeated.")
def main(minutes: float, seed: int, names: tuple[str, ...]) -> None:
    """Repeat the runs, and print their figures."""
    table = Table(f"{minutes:g} minutes, seed {seed}", ("run", "figure", "value"))
    failed = repeated(names, minutes, seed, table)
    table.show()
    for name in failed:
        click.echo(f"{name} failed; to repeat it: make guarantees RUN={name} MINUTES={minutes:g} SEED={seed}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
