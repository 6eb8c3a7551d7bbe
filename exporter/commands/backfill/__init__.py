"""`backfill`: writes history from the charts. In: days and settings. Out: an OpenMetrics file with timestamps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from exporter.commands.lazy_imports import loading
from exporter.commands.options import SettingsCommand, config_option

DAY = click.DateTime(["%Y-%m-%d"])
# The times between samples are those of `exporter.backfill.openmetrics.STEPS`.
STEP = click.Choice(("15m", "1h", "3h"))
OUTPUT = click.Path(path_type=Path, dir_okay=False)
_LABEL = (
    "A label for every series; use the labels of the live series, with the shipped scrape configuration "
    "job=edge-exporter, instance=edge-exporter and pod=edge-exporter. Repeatable."
)
_STEP = "Time between samples: with 1h the file is a quarter as large, with 3h a tenth."


@click.command("backfill", cls=SettingsCommand)
@click.option("--from", "first", metavar="DAY", type=DAY, help="First UTC day (YYYY-MM-DD); 30 days by default.")
@click.option("--to", "last", metavar="DAY", type=DAY, help="Last UTC day, included; yesterday by default.")
@click.option("--output", type=OUTPUT, required=True, help="The file to write.")
@click.option("--label", "labels", metavar="NAME=VALUE", multiple=True, help=_LABEL)
@click.option("--step", type=STEP, default="15m", show_default=True, help=_STEP)
@config_option
def command(config: Path | None, *, flags: Mapping[str, str], **given: Any) -> None:  # noqa: ANN401 - the other options
    """Write the history of DNS queries, rate-limit breaches and endpoints' charts as OpenMetrics with timestamps.

    `promtool tsdb create-blocks-from openmetrics FILE DIR` makes blocks of it. The series are those of the daemon's
    counters: a running total of the days before the day on which the daemon first saw them, as its state says, with
    each day's count spread evenly over the day. Without a state it ends with yesterday.

    Exit codes: 0 all is written; 1 something could not be read, and the rest is written; 2 nothing is written, because
    the configuration or an argument is wrong; 130 interrupted, and nothing is written.
    """
    with loading():
        from exporter.commands.backfill.writing import backfill  # noqa: PLC0415 - not for the help
    backfill(config, flags, **given)
