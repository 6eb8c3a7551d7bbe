"""`backfill`: writes history from the platform's charts as a file that Prometheus, Thanos and Mimir accept."""

import asyncio
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import click

from exporter.backfill.missing_days import BUILT_IN, AccountCharts, counters_of
from exporter.backfill.openmetrics import STEPS, PastSeries, write
from exporter.clock import SYSTEM
from exporter.collectors.collector import Collector, TargetCollector
from exporter.commands.options import SettingsCommand, config_option
from exporter.commands.output.printing import MISUSE, complain, complaining, echo
from exporter.commands.validated_settings import read_settings
from exporter.counters.storage import StorageError
from exporter.platform.http.client import Observer
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.untrusted.terminal import escape
from exporter.validation.configuration_errors import ConfigurationError
from exporter.wiring.clients import accesses_of, client_of
from exporter.wiring.plans import plans_of
from exporter.wiring.selections import selections_of
from exporter.wiring.state_storage import stored_rows

DEFAULT_DAYS = 30
# A name and any value; Prometheus reserves names that start with two underscores.
_LABEL = re.compile(r"(?!__)([a-zA-Z_][a-zA-Z0-9_]*)=(.*)", re.DOTALL)

DAY = click.DateTime(["%Y-%m-%d"])
_LABEL_HELP = (
    "A label for every series; give the labels that Prometheus adds when it scrapes. With the shipped scrape "
    "configuration: job=edge-exporter, instance=edge-exporter and pod=edge-exporter. Repeatable."
)
_STEP_HELP = "Time between samples; a file with 1h is a quarter as large as a file with 15m, one with 3h a tenth."


@click.command("backfill", cls=SettingsCommand)
@click.option(
    "--from", "first", metavar="DAY", type=DAY, help="First UTC day (YYYY-MM-DD); by default, 30 days are written."
)
@click.option("--to", "last", metavar="DAY", type=DAY, help="Last UTC day, included; yesterday by default.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write.")
@click.option("--label", "labels", metavar="NAME=VALUE", multiple=True, help=_LABEL_HELP)
@click.option("--step", type=click.Choice(tuple(STEPS)), default="15m", show_default=True, help=_STEP_HELP)
@config_option
def command(
    config: Path | None,
    flags: Mapping[str, str],
    *,
    first: datetime | None,
    last: datetime | None,
    output: Path,
    labels: tuple[str, ...],
    step: str,
) -> None:
    """Write the history of DNS queries, rate-limit breaches and endpoints' charts as OpenMetrics with timestamps.

    `promtool tsdb create-blocks-from openmetrics FILE DIR` makes Prometheus blocks from the file. The series have the
    names of the daemon's counters. Counts that are already in the counters of the saved state are left out. The count
    of a day is spread evenly over the day.

    Exit codes: 0 the file is complete; 1 something could not be read or written, or there is no history to write (see
    standard error); 2 the configuration or an argument is wrong, and nothing is written; 130 interrupted, and nothing
    is written.
    """
    with complaining(ConfigurationError, code=MISUSE), complaining(StorageError):
        settings = read_settings(config, flags)
        if not settings.accounts:
            raise click.UsageError("there is no account in the configuration: databases have no history")
        collectors = [plan.collector for plan in plans_of(settings).values()]
        charted = _collectors_with_charts(settings, collectors)
        families = [info for one in charted for info in counters_of(one)]
        added_labels = _parse_labels(labels, {label for info in families for label in info.labels})
        if output.exists():
            raise click.UsageError(f"{output} already exists: remove it, or choose another --output")
        span, past, failures = asyncio.run(_read_history(settings, collectors, charted, first, last))
    faults = [f"not read: {escape(failure)}" for failure in failures]
    if not past:
        nothing = f"nothing is written for {span}: no counts were read, or the saved counters contain the counts"
        complain("\n".join([*faults, nothing]))
    try:
        sample_count = write(output, past, added_labels, STEPS[step])
    except OSError as error:
        complain(f"cannot write {output}: {error.strerror or error}")
    echo(f"{output}: {span}, {len(past)} series, {sample_count} samples, {output.stat().st_size / 1e6:.1f} MB.")
    # With promtool's default of two hours for a block, a month would become 360 blocks.
    echo(f"Next: promtool tsdb create-blocks-from --max-block-duration=1200h openmetrics {output} DIRECTORY")
    if faults:
        complain("\n".join(faults))


def _collectors_with_charts(settings: Settings, collectors: Iterable[Collector]) -> list[TargetCollector[Any]]:
    endpoints = {endpoint.name for endpoint in settings.endpoints if any(metric.days for metric in endpoint.metrics)}
    candidates = [one for one in collectors if isinstance(one, TargetCollector)]
    return [one for one in candidates if one in BUILT_IN or one.name in endpoints]


def _parse_labels(labels: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Parse texts `NAME=VALUE`; raises click.UsageError if a text is wrong, or a name is in `taken` or occurs twice."""
    found: dict[str, str] = {}
    for text in labels:
        match = _LABEL.fullmatch(text)
        if match is None or match[1] in taken | found.keys():
            raise click.UsageError(f"--label: found {text!r}, expected NAME=VALUE with a valid, unused name")
        found[match[1]] = match[2]
    return found


async def _read_history(
    settings: Settings,
    collectors: Sequence[Collector],
    charted: Sequence[TargetCollector[Any]],
    first: datetime | None,
    last: datetime | None,
) -> tuple[str, list[PastSeries], list[str]]:
    """Return the days as text, the series of the collectors `charted`, and messages about what could not be read."""
    # A state file contains the counters of one shard only, so only the targets of this shard are read.
    shard = Shard() if settings.state.is_shared else settings.shard.shard(socket.gethostname())
    registry = Registry(shard, SYSTEM.wall)
    registry.configure(selections_of(settings))
    rows = await stored_rows(settings.state, [one.name for one in charted])
    async with AsyncExitStack() as opened:
        accounts = []
        for account in settings.accounts:
            client = client_of(accesses_of(settings)[account.name], Observer())
            opened.push_async_callback(client.aclose)
            accounts.append(AccountCharts(account.name, client, registry, rows))
        await asyncio.gather(*(one.discover(collectors) for one in accounts))
        days = _days(first, last, yesterday=min(one.today for one in accounts) - 1)  # it has ended for each account
        past = await asyncio.gather(*(one.read(charted, days) for one in accounts))
    span = f"{date.fromordinal(days[0])} to {date.fromordinal(days[-1])}"
    return span, list(chain.from_iterable(past)), list(chain.from_iterable(one.failures for one in accounts))


def _days(first: datetime | None, last: datetime | None, *, yesterday: int) -> range:
    """Return the ordinals of the days to read; raises click.UsageError for no days, or for a day after `yesterday`."""
    end = yesterday if last is None else last.toordinal()
    start = max(1, end - DEFAULT_DAYS + 1) if first is None else first.toordinal()
    if start > end or end > yesterday:
        latest = f"{date.fromordinal(yesterday)}, the last day that has ended"
        raise click.UsageError(f"--from must not be after --to, and --to must not be after {latest}")
    return range(start, end + 1)
