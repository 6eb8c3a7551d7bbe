"""Draws small faults in the package by lot, and shows which of them the tests find.

python -m tests.mutants --count 60     draw 60, run those that have no result yet, and print the survivors
python -m tests.mutants --only 7       run number 7 again

The seed is the first eight hexadecimal digits of the commit. A mutant is killed if a test fails that passes without it,
or if the tests do not end in time. Each survivor is a hole, which gets a test at the outer edge of its room, or it is
equivalent: whoever says so writes in one line why no input, order or time that a user can cause gives another result.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from tests.conftest import LONGEST

ROOT = Path(__file__).parents[2]
WORKERS = 2
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-m", "not real", "-p", "no:cacheprovider")
LIMIT_SECONDS = 1800.0
STAGES = 3
_PAIRS: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    *((ast.Eq, ast.NotEq), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.Mult, ast.Mod), (ast.Mult, ast.Div)),
)
FLIPPED: dict[type[ast.AST], Any] = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
# Neither what is printed nor what is declared is mutated: texts have their own list.
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "decorator_list"})
# They check texts and documents, start real parts, or are no tests.
_ASIDE = ("browser", "chaos", "dashboards", "demo", "deploy", "rules", "test_documents.py", "test_golden.py")
_LOGS = re.compile(r"(report\()?(self\.)?_?log(ger)?\b")


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


def nodes(tree: ast.AST) -> Iterator[Any]:
    """Yield the nodes that may be mutated."""
    for name, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            is_text = isinstance(child, ast.JoinedStr)
            is_log = isinstance(child, ast.Expr) and _LOGS.match(ast.unparse(child)) is not None
            if isinstance(child, ast.AST) and name not in _SKIPPED_FIELDS and not is_text and not is_log:
                yield child
                yield from nodes(child)


def of_statement(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Yield the faults of a statement: the kind, and the node with the fault."""
    match node:
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Constant() | ast.Yield() | ast.YieldFrom()):
            return
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue() | ast.Break():
            yield "statement dropped", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement dropped", ast.Pass()


def of_expression(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the faults of any other node."""
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
        for kind, made in of_statement(node) if isinstance(node, ast.stmt) else of_expression(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            is_open = isinstance(made, ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp)
            text = ("({})" if is_open else "{}").format(ast.unparse(ast.fix_missing_locations(made)))
            yield Mutant(str(path.relative_to(ROOT)), node.lineno, kind, start, end, text)


def drawn(commit: str, count: int) -> list[Mutant]:
    """Draw lines by lot, and one mutant of each."""
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for path in sorted((ROOT / "exporter").rglob("*.py")):
        if path.relative_to(ROOT).parts[1] not in ("sandbox", "assets"):
            for mutant in candidates(path):
                lines.setdefault((mutant.file, mutant.line), []).append(mutant)
    lot = random.Random(int(commit[:8], 16))  # noqa: S311 - a draw that can be repeated
    return [lot.choice(lines[line]) for line in lot.sample(sorted(lines), count)]


def stages(file: str) -> list[list[str]]:
    """Return the tests that are run with a mutant in a file: those next to it, the others, and the slow ones.

    Next to it are those of its room, the most like it first, and those that import it.
    """
    module = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    near, far, room = {}, [], module.split(".")[1]
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = str(path.relative_to(ROOT))
        folder = name.split("/")[1]
        imports = f"\nfrom {module} import" in path.read_text(encoding="utf-8")
        if path not in LONGEST and (imports or folder in (room, f"test_{room}.py")):
            alike = Path(*Path(file).parts[1:]).parent == Path(*Path(name).parts[1:]).parent
            near[name] = (not imports, not alike)
        elif path not in LONGEST and folder not in _ASIDE:
            far.append(name)
    slow = [str(path.relative_to(ROOT)) for path in LONGEST if path.relative_to(ROOT).parts[1] not in _ASIDE]
    return [sorted(near, key=near.__getitem__), far, slow]


class Checkout:
    """A copy of the commit in which mutants are tried."""

    def __init__(self, folder: Path, commit: str) -> None:
        self._folder = folder
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(folder)], check=True)
        subprocess.run(["git", "checkout", "-q", commit], cwd=folder, check=True)

    def killer(self, mutant: Mutant, files: list[str]) -> str:
        """Return the test of these files that fails with a mutant; empty if none does."""
        path = self._folder / mutant.file
        source = path.read_text(encoding="utf-8")
        ignored: list[str] = []
        while files:
            self._write(path, mutant.applied(source))
            failed = self._run(*files, *(f"--deselect={one}" for one in ignored))
            self._write(path, source)
            # A test that fails without the mutant, too, says nothing of it.
            if "::" not in failed or not self._run(failed):
                return failed
            ignored.append(failed)
        return ""

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        # A change within a second and of the same size would not be noticed.
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()

    def _run(self, *words: str) -> str:
        """Run tests; return the first that fails."""
        command = [*PYTEST, f"--timeout={LIMIT_SECONDS / 6:g}", *words]
        environ = {**os.environ, "PYTHONPATH": str(self._folder)}
        running = partial(subprocess.run, cwd=self._folder, env=environ, timeout=LIMIT_SECONDS)
        try:
            ended = running(command, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired:
            return f"no end within {LIMIT_SECONDS:g} s"
        if ended.returncode in (0, 5):  # 5: none of these tests is left
            return ""
        found = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
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
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    mutants = drawn(commit, count)
    results = ROOT / ".mutants" / f"{commit[:8]}.jsonl"
    results.parent.mkdir(exist_ok=True)
    results.touch()
    # Number → the stages that are done, and what killed it.
    known: dict[int, tuple[int, str]] = {
        number: (stage, killer)
        for number, stage, killer in map(json.loads, results.read_text(encoding="utf-8").splitlines())
        if number != only
    }
    wanted = [only] if only is not None else range(count)
    own = threading.local()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(WORKERS) as pool:

        def attempt(number: int, stage: int) -> tuple[int, str]:
            if not hasattr(own, "checkout"):
                own.checkout = Checkout(Path(tempfile.mkdtemp(dir=scratch)), commit)
            return number, own.checkout.killer(mutants[number], stages(mutants[number].file)[stage])

        for stage in range(STAGES):
            left = [number for number in wanted if known.get(number, (0, "")) == (stage, "")]
            for done in as_completed([pool.submit(attempt, number, stage) for number in left]):
                number, killer = done.result()
                known[number] = (stage + 1, killer)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([number, stage + 1, killer]) + "\n")
                if killer or stage == STAGES - 1:
                    click.echo(shown(number, mutants[number], killer))
    killed = [number for number, (_, killer) in known.items() if killer]
    survived = sorted(number for number, (stage, killer) in known.items() if stage == STAGES and not killer)
    click.echo(f"{len(killed)} of {count} killed; survivors: {survived or 'none'}")


if __name__ == "__main__":
    main()
