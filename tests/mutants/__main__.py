"""Draws small faults in the package by lot, and shows which of them the tests find.

python -m tests.mutants --count 60     draw 60, run those that have no result yet, and print the survivors
python -m tests.mutants --only 7       run number 7 again

The lot is the commit's: the seed is the first eight hexadecimal digits of its hash. A mutant is killed if a test fails
that passes without it, or if the tests do not end in time. Each survivor is a hole, which gets a test at the outer edge
of its room, or equivalent to the original: whoever says so names, in one line, why no input, order or time that users
can cause gives another result. `# equivalent` comments are not needed: another commit draws others.
"""

import ast
import copy
import difflib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tests.mutants.sight import stages

ROOT = Path(__file__).parents[2]
WORKERS = 2
LIMIT_SECONDS = 1800.0
NO_TESTS = 5
FLIPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
# Neither what is printed nor what is declared is mutated: texts have their own list.
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "decorator_list"})
_LOGS = re.compile(r"_?(log|logger)\b.*")


@dataclass(frozen=True)
class Mutant:
    """A fault: what a node of a file is replaced by."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """Return the source with the fault."""
        raw = source.encode()
        return (raw[: self.start] + self.text.encode() + raw[self.end :]).decode()


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that may be mutated."""
    for name, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            is_text = isinstance(child, ast.JoinedStr)
            is_log = isinstance(child, ast.Expr) and _LOGS.match(ast.unparse(child)) is not None
            if isinstance(child, ast.AST) and name not in _SKIPPED_FIELDS and not is_text and not is_log:
                yield child
                yield from nodes(child)


def faults(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the faults of a node: the kind, and the node with the fault."""
    yield from _of_statement(node) if isinstance(node, ast.stmt) else _of_expression(node)


def _of_statement(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Constant() | ast.Yield() | ast.YieldFrom()):
            return
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue() | ast.Break():
            yield "statement dropped", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement dropped", ast.Pass()


def _of_expression(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    made: Any = copy.copy(node)
    match node:
        case ast.Compare(ops=[operator]):
            made.ops = [FLIPPED[type(operator)]()]
            yield "comparison flipped", made
        case ast.BoolOp(op=operator) | ast.BinOp(op=operator) if type(operator) in FLIPPED:
            made.op = FLIPPED[type(operator)]()
            yield "and/or swapped" if isinstance(node, ast.BoolOp) else "arithmetic swapped", made
        case ast.Constant(value=bool()):
            yield "boolean negated", ast.Constant(not node.value)
        case ast.Constant(value=int() | float() as number):
            yield "constant changed by one", ast.Constant(number + 1)
        case ast.UnaryOp(op=ast.Not()):
            yield "boolean negated", node.operand


def candidates(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes(ast.parse(source)):
        for kind, made in faults(node):
            assert isinstance(node, ast.expr | ast.stmt)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            text = ast.unparse(ast.fix_missing_locations(made))
            is_open = isinstance(made, ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp)
            name = str(path.relative_to(ROOT))
            yield Mutant(name, node.lineno, kind, start, end, f"({text})" if is_open else text)


def drawn(commit: str, count: int) -> list[Mutant]:
    """Draw lines by lot, and one mutant of each."""
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for path in sorted((ROOT / "exporter").rglob("*.py")):
        if path.relative_to(ROOT).parts[1] not in ("sandbox", "assets"):
            for mutant in candidates(path):
                lines.setdefault((mutant.file, mutant.line), []).append(mutant)
    lot = random.Random(int(commit[:8], 16))  # noqa: S311 - a draw that can be repeated
    return [lot.choice(lines[line]) for line in lot.sample(sorted(lines), count)]


class Checkout:
    """A copy of the commit in which mutants are tried."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def killer(self, mutant: Mutant) -> str:
        """Return the test that fails with a mutant; empty if none does."""
        path = self._folder / mutant.file
        source = path.read_text(encoding="utf-8")
        ignored: list[str] = []
        for stage in stages(mutant.file):
            while stage:
                with self._written(path, mutant.applied(source), source):
                    failed = self._run(*stage, *(f"--deselect={one}" for one in ignored))
                if not failed or not self._fails_anyway(failed):
                    break
                ignored.append(failed)
            if stage and failed:
                return failed
        return ""

    def _fails_anyway(self, failed: str) -> bool:
        """Whether a test fails without the mutant, too, which says nothing of it."""
        return "::" in failed and self._run(failed) != ""

    @contextmanager
    def _written(self, path: Path, text: str, original: str) -> Iterator[None]:
        for wanted in (text, original):
            path.write_text(wanted, encoding="utf-8")
            # A change within a second and of the same size would not be noticed.
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
                compiled.unlink()
            if wanted is text:
                yield

    def _run(self, *words: str) -> str:
        """Run tests; return the first that fails."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not real", "--timeout=300", *words]
        environ = {**os.environ, "PYTHONPATH": str(self._folder)}
        try:
            ended = subprocess.run(
                [*command, "-p", "no:cacheprovider"], cwd=self._folder, env=environ, capture_output=True, text=True,
                timeout=LIMIT_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"no end within {LIMIT_SECONDS:g} s"
        if ended.returncode in (0, NO_TESTS):
            return ""
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
        return found[1] if found else f"an end of pytest with {ended.returncode}: {ended.stdout[-200:]!r}"


def shown(number: int, mutant: Mutant, killer: str) -> str:
    """Return what is printed of a mutant."""
    line = f"{number:3d} {'killed' if killer else 'SURVIVED'} {mutant.file}:{mutant.line} {mutant.kind}"
    if killer:
        return f"{line} by {killer}"
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    both = source.splitlines(), mutant.applied(source).splitlines()
    return "\n".join([line, *list(difflib.unified_diff(*both, "", "", "", "", 1, ""))[2:]])


@click.command()
@click.option("--count", default=60, show_default=True, help="How many are drawn.")
@click.option("--only", type=int, help="Run this one again.")
def main(count: int, only: int | None) -> None:
    """Try mutants of the commit; the results are kept in `.mutants/`, so that a run can be continued."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    mutants = drawn(commit, count)
    results = ROOT / ".mutants" / f"{commit[:8]}.jsonl"
    results.parent.mkdir(exist_ok=True)
    known = dict(map(json.loads, results.read_text(encoding="utf-8").splitlines())) if results.exists() else {}
    left = [only] if only is not None else [number for number in range(count) if number not in known]
    checkouts = threading.local()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(WORKERS) as pool:

        def begin() -> None:
            folder = Path(tempfile.mkdtemp(dir=scratch)) / "edge"
            subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(folder)], check=True)
            subprocess.run(["git", "checkout", "-q", commit.strip()], cwd=folder, check=True)
            checkouts.own = Checkout(folder)

        def attempt(number: int) -> tuple[int, str]:
            if not hasattr(checkouts, "own"):
                begin()
            return number, checkouts.own.killer(mutants[number])

        for number, killer in pool.map(attempt, left):
            known[number] = killer
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps([number, killer]) + "\n")
            click.echo(shown(number, mutants[number], killer))
    survived = [number for number in range(count) if known.get(number) == ""]
    click.echo(f"{len(known)} of {count} run, {len(known) - len(survived)} killed; survivors: {survived or 'none'}")


if __name__ == "__main__":
    main()
