"""Checks a configuration, and prints its faults and the results of the polls."""

import asyncio
import io
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import click

from exporter.commands.check.first_round import FAILED, OK, AccountResult, Row, first_round
from exporter.commands.output.printing import FAULT, complain, counted
from exporter.commands.output.table import lay_out
from exporter.commands.validated_settings import read_settings
from exporter.log import configure
from exporter.platform.errors import MESSAGE_LIMIT, one_line
from exporter.settings.model import Settings
from exporter.targets.target import DATABASE_PREFIX
from exporter.untrusted.terminal import escape
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault
from exporter.wiring.state_storage import database_problem

_COLUMNS = ("COLLECTOR", "TARGET", "RESULT", "DETAIL")
_COLOURS = {OK: "green", FAILED: "red"}
# If more than this many targets of a collector have the same result and detail, they share a line of the table.
_MOST_ALIKE = 5


def check(config: Path | None, flags: Mapping[str, str], *, offline: bool, is_json: bool) -> None:
    """Validate a configuration and, unless `offline`, poll; print the results, and exit with 1 if anything is wrong."""
    results: Sequence[AccountResult] = ()
    faults: Sequence[ConfigurationFault] = ()
    try:
        settings = read_settings(config, flags)
        if not offline:
            results, faults = _poll_all(settings), _state_faults(settings)
    except ConfigurationError as error:
        if is_json:
            click.echo(_as_json([], error.faults))
        complain(str(error))
    if is_json:
        text = _as_json(results, faults)
    elif offline:
        text = _validity(settings)
    else:
        text = _as_text(results, faults)
    # Print in one piece: a reader that takes only the first line (`| head -1`) must not change the exit code.
    click.echo(text)
    if _fault_count(results, faults):
        sys.exit(FAULT)


def _poll_all(settings: Settings) -> Sequence[AccountResult]:
    # The results of the polls are printed instead of the log. The log stays in memory: if it went to a file that is
    # closed afterwards, the next file or connection could get the descriptor of that file, and receive later lines.
    configure("error", stream=io.StringIO())
    with click.progressbar(length=0, show_pos=True, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

        def draw(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return asyncio.run(first_round(settings, draw))


def _validity(settings: Settings) -> str:
    accounts, databases = counted(len(settings.accounts), "account"), counted(len(settings.databases), "database")
    queries = counted(sum(len(database.queries) for database in settings.databases), "query", "queries")
    return f"The configuration is valid: {accounts}, {databases}, {queries}. Nothing was contacted."


def _state_faults(settings: Settings) -> list[ConfigurationFault]:
    problem = database_problem(settings)
    return [settings.fault(("state", settings.state.address_key), problem)] if problem else []


def _fault_count(results: Iterable[AccountResult], faults: Sequence[ConfigurationFault]) -> int:
    return sum(row.result == FAILED for result in results for row in result.rows) + len(faults)


def _as_text(results: Sequence[AccountResult], faults: Sequence[ConfigurationFault]) -> str:
    target_count = sum(result.targets for result in results)
    last_lines = [f"fault: {one_line(str(fault))}" for fault in faults]
    last_lines.append(f"{counted(target_count, 'target')}, {counted(_fault_count(results, faults), 'fault')}.")
    return "\n\n".join([*map(_table, results), "\n".join(map(escape, last_lines))])


def _table(result: AccountResult) -> str:
    heading = escape(_heading(result.name))
    cells: list[tuple[str, ...]] = []
    for _, rows in groupby(result.rows, lambda row: row.collector):
        cells += _summarised(rows)
    if not cells:
        return f"{heading}\nnothing is polled: no enabled collector has a target in this shard"
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    colours = None if width is None else _COLOURS
    table = lay_out(_COLUMNS, cells, width, folded=("TARGET", "DETAIL"), colours=colours)
    return "\n".join(filter(None, [heading, table, _compare_with_budget(result)]))


def _heading(name: str) -> str:
    if name.startswith(DATABASE_PREFIX):
        return f"database {name.removeprefix(DATABASE_PREFIX)}"
    return f"account {name}"


def _summarised(rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        alike.setdefault((row.result, row.detail), []).append(row)
    for same in alike.values():
        if len(same) <= _MOST_ALIKE:
            yield from (_cells([row], _named_target(row)) for row in same)
        else:
            yield _cells(same, f"{len(same)} targets, first {_named_target(same[0])}")


def _cells(same: Sequence[Row], target: str) -> tuple[str, ...]:
    """Return the cells of a table line for rows with equal result and detail; `target` is the text below TARGET."""
    first = same[0]
    return first.collector, target, first.result, _short(first.detail or _families(same))


def _families(rows: Sequence[Row]) -> str:
    fewest, most = min(row.families for row in rows), max(row.families for row in rows)
    return counted(most, "family", "families") if fewest == most else f"{fewest} to {most} families"


def _named_target(row: Row) -> str:
    # A name may be empty, or a part of the target, as in `database/NAME`.
    return row.target if row.name in row.target else f"{row.target} {row.name}"


def _short(text: str) -> str:
    return escape(text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…")


def _compare_with_budget(result: AccountResult) -> str:
    if result.demand is None:
        return ""
    needed = f"{result.demand:.1f}".removesuffix(".0") if result.demand >= 1 else f"{result.demand:.2g}"
    sentence = f"the targets need {needed} requests/s, the budget allows {result.budget:g}"
    if result.stretch > 1:
        sentence += f", so intervals will be {result.stretch:.1f} times as long as configured"
    return sentence


def _as_json(accounts: Sequence[AccountResult], faults: Sequence[ConfigurationFault]) -> str:
    fault_count = _fault_count(accounts, faults)
    found = {
        "ok": not fault_count,
        "configuration": [{**fault.place._asdict(), "path": fault.path, "message": fault.message} for fault in faults],
        "targets": sum(account.targets for account in accounts),
        "faults": fault_count,
        "accounts": [
            {
                "name": account.name,
                "requests_per_second": account.demand,
                "budget_requests_per_second": account.budget,
                "interval_stretch": account.stretch,
            }
            for account in accounts
        ],
        "results": [row._asdict() for account in accounts for row in account.rows],
    }
    return escape(json.dumps(found, indent=2, ensure_ascii=False), keep="\n")
