"""Checks a configuration, and prints the findings."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from exporter.commands.check import report
from exporter.commands.check.report import COLUMNS, Row, as_json
from exporter.commands.check.results import AccountResult, foresee
from exporter.commands.check.unmatched import idle
from exporter.commands.configuration import read_configuration
from exporter.commands.loading import loading
from exporter.commands.output.printing import FAULT, complain, counted, terminal_width
from exporter.commands.output.progress import progress_bars
from exporter.commands.output.table import lay_out
from exporter.foreign.terminal import escape
from exporter.platform.errors import one_line
from exporter.settings.loading import with_endpoint_files
from exporter.settings.model import Settings
from exporter.settings.warnings import exposed, misnamed
from exporter.validation.faults import ConfigurationError, Fault, written
from exporter.validation.yaml_file import MarkedFile

_COLOURS = {report.OK: "green", report.FAILED: "red"}


def check(config: Path | None, flags: Mapping[str, str], *, offline: bool, is_json: bool) -> None:
    """Check a configuration, print the findings, and exit with code 1 if anything is wrong."""
    try:
        settings, file = read_configuration(config, flags, os.environ)
        verdicts = foresee(settings) if offline else _poll_all(settings)
    except ConfigurationError as error:
        if is_json:
            click.echo(as_json(error.faults))
        complain(str(error))
    warnings = _warnings(settings, verdicts, file)
    faults = [] if offline else list(_state_faults(settings, file))
    count = report.faults(verdicts) + len(faults)
    ends = [*(f"warning: {one}" for one in warnings), *(f"fault: {one_line(str(fault))}" for fault in faults)]
    lines = [escape(line) for line in (*report.loads(verdicts), *ends)]
    if is_json:
        lines = [as_json(faults, verdicts, warnings)]
    elif offline:
        lines = [*_valid(settings), *lines]
    else:
        counts = [counted(report.polls(verdicts), "poll"), counted(count, "fault")]
        counts += [counted(len(warnings), "warning")] if warnings else []
        lines = [render(report.rows(verdicts), terminal_width()), "", *lines, f"{', '.join(counts)}."]
    # Print in one piece: a reader that takes only the first line (`| head -1`) must not change the exit code.
    click.echo("\n".join(lines))
    if count:
        raise SystemExit(FAULT)


def _poll_all(settings: Settings) -> Sequence[AccountResult]:
    with loading():
        from exporter.clock import SYSTEM  # noqa: PLC0415 - what contacts the platform; not for --offline
        from exporter.commands.check.polling import check_all  # noqa: PLC0415
        from exporter.commands.output import interruptible  # noqa: PLC0415
    with progress_bars() if sys.stderr.isatty() else nullcontext(lambda *_: None) as progressed:
        return interruptible.run(check_all(settings, SYSTEM, progressed))


def _valid(settings: Settings) -> Iterator[str]:
    accounts, databases = counted(len(settings.accounts), "account"), counted(len(settings.databases), "database")
    queries = counted(sum(len(database.queries) for database in settings.databases), "query", "queries")
    yield f"The configuration is valid: {accounts}, {databases}, {queries}."
    yield "Nothing was contacted, so targets that discovery would find are not counted:"


def _warnings(settings: Settings, verdicts: Sequence[AccountResult], file: MarkedFile) -> list[str]:
    """Return the warnings, a line each: exposed credentials, odd names, changed counters, settings without effect."""
    whole = with_endpoint_files(file)
    shown = [
        Fault(*whole.locate(path), written(path), message)
        for path, message in (*exposed(settings), *misnamed(settings.endpoints))
    ]
    return [one_line(str(warning)) for warning in (*shown, *idle(settings, verdicts, file))]


def _state_faults(settings: Settings, file: MarkedFile) -> Iterator[Fault]:
    """Return why the state database cannot be used, if it cannot."""
    if not settings.state.is_shared:
        return
    with loading():
        from exporter.wiring.state_storage import problem_of  # noqa: PLC0415 - for a database alone
    if problem := problem_of(settings):
        path = ("state", "url" if settings.state.url_file is None else "url_file")
        yield Fault(*file.locate(path), written(path), problem)


def render(rows: Sequence[Row], width: int | None) -> str:
    """Return the table for a terminal of this width; with None, for a program.

    On a narrow terminal each account has its own table, with each target's name below the target.
    """
    cells = [row.cells() for row in rows]
    colours = None if width is None else _COLOURS

    def narrow() -> str:
        columns, folded = ("COLLECTOR", "TARGET", "RESULT", "DETAIL"), ("TARGET", "DETAIL")
        parts = []
        for account in dict.fromkeys(row.account for row in rows):
            own = [
                (collector, f"{target}\n{name}" if name and name not in target else target, result, detail)
                for owner, collector, target, name, result, detail in cells
                if owner == account
            ]
            parts.append(f"account {account}\n{lay_out(columns, own, width, folded=folded, colours=colours)}")
        return "\n\n".join(parts)

    return lay_out(COLUMNS, cells, width, colours=colours, narrow=narrow)
