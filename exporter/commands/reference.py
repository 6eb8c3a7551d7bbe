"""`metrics`: prints the reference of every family, generated from the declarations."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from prometheus_client import CollectorRegistry

from exporter import __version__, wiring
from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.collector import Collector
from exporter.collectors.database import QUERY_PREFIX
from exporter.commands.options import form_option
from exporter.commands.output.help import Command
from exporter.commands.output.printing import MISUSE, complain
from exporter.exposition.status_board import HEALTH
from exporter.metric import FamilyInfo
from exporter.settings.loading import SettingsError, load
from exporter.settings.types import format_duration
from exporter.telemetry import Telemetry

# Operations that only a setting enables.
_OPT_IN = {"script_read_by_update": "read: update"}
# Families that come from the configuration, listed beside those that they are compared with.
_BESIDE = {"edge_script_monthly_budget_dollars": "scripts"}
_NOTES = {
    "dns_statistics": (
        "Counters go by UTC days: of a day after the first sight everything counts, of an earlier one what it "
        "rose since it was first seen. A day that falls is a correction, and its counter stands. The oldest day of "
        "a chart counts no rise where the window may begin within it: before the first sight, or 27 days back."
    ),
    "scripts": (
        "Counters of a month to date count each rise. A fall to below half in a new month is a reset at once. A "
        "fall to below half within a month, and any fall on a month's first day or after 24 h without a poll, is "
        "a reset when the next poll is below the old value as well; any other fall is a correction, and the "
        "counter stands. For a day after a reset a value at or above the old month's last counts only if it "
        "stands for 24 h. A negative value is shown by the gauge and left out of the counter.\n\n"
        "What can still go wrong: what comes between a month's last poll and its end cannot be known, and is in "
        "no counter. Two wrong low answers one after the other are taken for a reset, and the month counts again "
        "when its value has been back for 24 h; a correction that stands on a month's first day is taken for one, "
        "too. After 24 h without a poll over a month's end, a value that rose counts whole though the platform "
        "resets more than 6 h late, and counts only as far as it rose in the month's first 6 h though the "
        "platform has reset. A wrong low value at the very first sight counts when it is right again."
    ),
    "shield_rate_limits": (
        'Days of the map are counts by action or plain numbers, which are `action="unclassified"`. Sum over all '
        "actions: the sum holds in both shapes. Where a map changes its shape within a day, which action a breach "
        "counts for may differ from the platform's, and the sum does not."
    ),
}


@dataclass(frozen=True, slots=True)
class Section:
    """The families of one collector, or of the exporter itself.

    Attributes:
        collector: the collector; None for the exporter itself.
    """

    title: str
    collector: Collector | None
    families: tuple[FamilyInfo, ...]

    @property
    def interval(self) -> tuple[str, float] | None:
        """The configuration key of the interval, and its default in seconds; None for the exporter's own families."""
        if self.collector is None:
            return None
        return f"collectors.{self.collector.section}.interval", self.collector.interval

    @property
    def requests(self) -> tuple[str, ...]:
        """Return the requests of a poll."""
        return tuple(self._operations())

    @property
    def conditions(self) -> dict[str, str]:
        """Return each request that only a setting enables, with that setting."""
        return {request: _OPT_IN[name] for request, name in self._operations().items() if name in _OPT_IN}

    def _operations(self) -> dict[str, str]:
        operations = self.collector.operations if self.collector is not None else ()
        return {f"{operation.method} {operation.path}": operation.name for operation in operations}


def own_families() -> Iterator[FamilyInfo]:
    """Return the exporter's own families."""
    telemetry = Telemetry(CollectorRegistry(), __version__)
    yield from telemetry.families()


def sections(collectors: Sequence[Collector] = CATALOGUE) -> Iterator[Section]:
    """Return the families by collector, each family once, and then the exporter's own."""
    own = tuple(own_families())
    seen: set[str] = set()
    for collector in collectors:
        fresh = tuple(info for info in collector.families if info.name not in seen)
        seen.update(info.name for info in fresh)
        if fresh:
            beside = tuple(info for info in own if _BESIDE.get(info.name) == collector.name)
            yield Section(collector.name, collector, (*fresh, *beside))
    yield Section("health", None, (*HEALTH, *(info for info in own if info.name not in _BESIDE)))


def as_markdown(collectors: Sequence[Collector] = CATALOGUE) -> str:
    """Return the reference as Markdown."""
    lines = [
        "# Metrics",
        "",
        "Generated by `edge-exporter metrics`. Values of platform families are polled: they are as old as the last",
        f"poll of their target. A user's SQL query named N is the gauge `{QUERY_PREFIX}N{{database, …}}` with the",
        "labels that it names. The process's own `process_` and `python_` families are those of the Prometheus client",
        "library.",
        "",
        "Days and months are the platform's, by the `Date` of its answers. A `Date` over a day from both our clock and",
        "the one believed last is believed when three successive answers agree; until then the last one is carried on.",
    ]
    for section in sections(collectors):
        lines += ["", f"## {section.title}"]
        if section.interval is not None:
            key, seconds = section.interval
            asked = ", ".join(_request(section, request) for request in section.requests)
            lines += ["", f"Polled every {format_duration(seconds)} by default (`{key}`) with {asked}."]
        if section.title in _NOTES:
            lines += ["", _NOTES[section.title]]
        lines += ["", "| metric | type | unit | labels | meaning |", "|---|---|---|---|---|"]
        lines += [_row(info) for info in section.families]
    return "\n".join(lines) + "\n"


def _request(section: Section, request: str) -> str:
    condition = section.conditions.get(request)
    return f"`{request}` (only with `{condition}`)" if condition else f"`{request}`"


def _row(info: FamilyInfo) -> str:
    labels = ", ".join(f"`{label}`" for label in info.labels)
    meaning = info.help.replace("|", "\\|").replace("<", "&lt;")
    return f"| `{info.name}` | {info.kind} | {info.unit} | {labels} | {meaning} |"


def as_json(collectors: Sequence[Collector] = CATALOGUE) -> str:
    """Return the reference as JSON."""
    return json.dumps([_plain(section) for section in sections(collectors)], indent=2) + "\n"


def _plain(section: Section) -> dict[str, object]:
    plain: dict[str, object] = {"section": section.title}
    if section.interval is not None:
        plain |= {"interval": dict(zip(("key", "default_seconds"), section.interval, strict=True))}
        plain |= {"requests": section.requests}
    return plain | {
        "metrics": [
            {"name": info.name, "type": info.kind, "unit": info.unit, "labels": info.labels, "help": info.help}
            for info in section.families
        ]
    }


@click.command("metrics", cls=Command)
@form_option("markdown", "json", names=("-o", "--output", "--format"))
@click.option(
    "--config",
    type=click.Path(path_type=Path, readable=False),
    help="A configuration file, whose endpoints and queries are listed too.",
)
def command(form: str, config: Path | None) -> None:
    """Print the reference of every metric: its type, unit, labels, meaning, and how often it is polled."""
    collectors: Sequence[Collector] = CATALOGUE
    if config is not None:
        try:
            collectors = wiring.collectors(load(config, {}, os.environ))
        except SettingsError as error:
            complain(str(error), MISUSE)
    click.echo(as_markdown(collectors) if form == "markdown" else as_json(collectors), nl=False)
