"""`backfill`: writes history from the charts. In: days and settings. Out: an OpenMetrics file with timestamps."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from exporter.commands.loading import loading
from exporter.commands.options import SettingsCommand, config_option

# The times between samples are those of `exporter.backfill.samples.STEPS`.
_STEPS = ("15m", "1h", "3h")


def _day(_context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Parse a UTC day; a moment must be a midnight, and as `--to` it means the day before."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"found {value!r}, expected a UTC day such as 2026-02-08") from None
    if len(value) == len("2026-02-08"):
        return moment.toordinal()
    if moment.utcoffset() or moment.time().replace(tzinfo=None) != datetime.min.time():
        raise click.BadParameter(f"found {value!r}, expected a UTC day or its midnight: charts hold whole days")
    return moment.toordinal() - (1 if parameter.name == "last" else 0)


@click.command("backfill", cls=SettingsCommand)
@click.option("--from", "first", metavar="DAY", callback=_day, help="First UTC day (YYYY-MM-DD); 30 days by default.")
@click.option("--to", "last", metavar="DAY", callback=_day, help="Last UTC day, included; today by default.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The file to write; until it is complete, its name ends in .part.",
)
@click.option(
    "--label",
    "labels",
    metavar="NAME=VALUE",
    multiple=True,
    help="A label for every series; use the labels of the live series, with the shipped scrape configuration "
    "job=edge-exporter, instance=edge-exporter and pod=edge-exporter. Repeatable.",
)
@click.option(
    "--step",
    type=click.Choice(_STEPS),
    default="15m",
    show_default=True,
    help="Time between samples: with 1h the file is a quarter as large, with 3h a twelfth.",
)
@click.option(
    "--account",
    "accounts",
    metavar="NAME",
    multiple=True,
    help="Only this account. Repeatable.",
)
@click.option("--zone", "zones", metavar="ID|DOMAIN", multiple=True, help="Only this DNS zone. Repeatable.")
@config_option
def command(
    config: Path | None,
    *,
    labels: tuple[str, ...],
    accounts: tuple[str, ...],
    zones: tuple[str, ...],
    flags: Mapping[str, str],
    **given: Any,  # noqa: ANN401 - the other options
) -> None:
    """Write the history of DNS queries, rate-limit breaches and endpoints' charts as OpenMetrics with timestamps.

    `promtool tsdb create-blocks-from openmetrics FILE DIR` makes blocks of it. The series are those of the daemon's
    counters, each day's count spread evenly over the day, and end where the daemon's own counting began, as the state
    file records: run it while the daemon runs, or before the first start of the daemon, which then continues from
    there.

    It stays within each account's budget. After an interruption, run the same command again: it continues, and retries
    what could not be read.

    Exit codes: 0 all is written; 1 something could not be read, and the rest is written; 2 nothing is written, because
    the configuration or an argument is wrong; 130 interrupted.
    """
    with loading():
        from exporter.backfill.job import Selected  # noqa: PLC0415 - not for the help
        from exporter.commands.backfill.writing import Job, backfill, parse_labels  # noqa: PLC0415
    selected = Selected(frozenset(accounts), frozenset(zones))
    backfill(config, Job(labels=parse_labels(labels), selected=selected, **given), flags)
