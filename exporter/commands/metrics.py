"""`metrics`: prints the reference of families, generated from their declarations."""

import json
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
from prometheus_client import CollectorRegistry

from exporter import __version__
from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.collector import Collector
from exporter.collectors.database import QUERY_PREFIX
from exporter.commands.options import form_option
from exporter.exposition.store import HEALTH
from exporter.metric import FamilyInfo
from exporter.platform.operation import Operation
from exporter.settings.loading import load
from exporter.telemetry import Telemetry
from exporter.validation.types import format_duration
from exporter.wiring.plans import collectors_of

# Operation → the setting with which a collector calls this operation, instead of the previous one in `operations`.
_INSTEAD = {"script_read_by_update": "read: update"}
# The name of a family of the exporter itself → the collector in whose section the family is listed.
_BESIDE = {"edge_script_monthly_budget_dollars": "scripts"}
# Families whose name, type or labels may change with any version.
_EXPERIMENTAL = frozenset({"edge_database_query_interval_seconds", "edge_exporter_script_budget_unmatched"})
# The name of a collector → what the reference says about how the collector's counters count.
_NOTES = {
    "dns_statistics": (
        "Counters are sums over UTC days. Days after the day of the first poll are counted in full. Of the day of the "
        "first poll and of earlier days, only rises after the first poll are counted. If the value of a day falls, the "
        "counter does not fall, and `edge_exporter_ledger_corrections_total` counts a correction. The oldest day of a "
        "chart may be incomplete. If the oldest day is before the day of the first poll, or at least 27 days older "
        "than the newest day, its rises are not counted."
    ),
    "scripts": (
        "Counters of month-to-date values count the rises of the value. A fall is a reset or a correction:\n\n"
        "- In a new UTC month, a fall to below half of the highest value since the last reset is a reset.\n"
        "- Three other falls can be a reset: to below half within a month, by any amount on the first day of a month, "
        "and by any amount after 24 h without a poll. Such a fall is a reset if the next value is also lower than the "
        "value before the fall.\n"
        "- Every other fall is a correction: the counter does not fall.\n\n"
        "For a day after a reset, a value may still come from before the reset. Therefore values that are at least the "
        "last value before the reset are counted only after they have lasted for 24 h.\n\n"
        "A negative value is shown by the gauge and ignored by the counter.\n\n"
        "What can still go wrong:\n\n"
        "- The rise between the last poll before a reset and the reset is unknown, and in no counter.\n"
        "- Two successive wrong answers below half are treated as a reset. Then the whole month is counted again when "
        "the right value is back. A lasting correction on a month's first day is also treated as a reset.\n"
        "- After more than 24 h without a poll, the first value in a new month may be higher than the last one. In the "
        "first 6 h of the month, only the rise is counted: too little if the platform has already reset. Later, the "
        "whole value is counted: too much if the platform has not reset yet.\n"
        "- If the value at the first poll is wrong and too low, the difference to the right value is counted later."
    ),
    "shield_rate_limits": (
        "The platform reports days as counts by action or as plain numbers. Plain numbers are served with "
        '`action="unclassified"`. In both forms, the sum over all actions is right. If the form changes, the counter '
        "starts again at 0."
    ),
}

# A title, the collector (None for the exporter itself), and the families.
Section = tuple[str, Collector | None, tuple[FamilyInfo, ...]]


def sections(collectors: Sequence[Collector] = CATALOGUE) -> Iterator[Section]:
    """Yield a section for each collector with families that no earlier section has, and one for the exporter itself."""
    own = tuple(Telemetry(CollectorRegistry(), __version__).families())
    listed: set[str] = set()
    for collector in collectors:
        unlisted = tuple(info for info in collector.families if info.name not in listed)
        listed.update(info.name for info in unlisted)
        if unlisted:
            beside = tuple(info for info in own if _BESIDE.get(info.name) == collector.name)
            yield collector.name, collector, (*unlisted, *beside)
    yield "health", None, (*HEALTH, *(info for info in own if info.name not in _BESIDE))


@cache
def _built_in() -> frozenset[str]:
    return frozenset(info.name for _, _, infos in sections() for info in infos)


def stability(info: FamilyInfo) -> str:
    """Return `stable`, `experimental` or, for a metric that the configuration defines, `configured`."""
    if info.name in _EXPERIMENTAL:
        return "experimental"
    return "stable" if info.name in _built_in() else "configured"


def as_markdown(collectors: Sequence[Collector] = CATALOGUE) -> str:
    """Return the reference as Markdown."""
    lines = [
        "# Metrics",
        "",
        "Generated by `edge-exporter metrics`. Values of the platform are as old as the last good poll of the target.",
        f"The result of an SQL query named N is served as the gauge `{QUERY_PREFIX}N{{database, …}}` with the query's",
        "labels. The families `process_…` and `python_…` come from prometheus-client.",
        "",
        "Days and months are in UTC, by the `Date` of the platform's answers. A `Date` is accepted if it differs by at",
        "most a day from this machine's clock, or from the last accepted `Date` plus the time since then. Another",
        "`Date` is accepted when three successive answers agree on it. Until then, the time runs on from the last",
        "accepted `Date`. If none was accepted yet, the earlier of the new `Date` and this machine's time is used.",
        "",
        "The name, type and labels of a stable metric change only with a line under *Changes that need attention* in",
        "the changelog. The name, type and labels of an experimental metric may change with any version.",
    ]
    for title, collector, infos in sections(collectors):
        lines += ["", f"## {title}"]
        if collector is not None:
            lines += ["", _how_polled(collector)]
        if title in _NOTES:
            lines += ["", _NOTES[title]]
        lines += ["", "| metric | type | unit | labels | stability | meaning |", "|---|---|---|---|---|---|"]
        for info in infos:
            labels = ", ".join(f"`{label}`" for label in info.labels)
            meaning = info.help.replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"| `{info.name}` | {info.kind} | {info.unit} | {labels} | {stability(info)} | {meaning} |")
    return "\n".join(lines) + "\n"


def _how_polled(collector: Collector) -> str:
    requests: list[str] = []
    for operation in collector.operations:
        request = f"`{_request(operation)}`"
        if setting := _INSTEAD.get(operation.name):
            requests[-1] += f" or, with `{setting}`, {request}"
        else:
            requests.append(request)
    interval = f"{format_duration(collector.interval)} by default (`collectors.{collector.section}.interval`)"
    return f"Polled every {interval} with {', '.join(requests)}."


def _request(operation: Operation[Any]) -> str:
    return f"{operation.method} {operation.path}"


def as_json(collectors: Sequence[Collector]) -> str:
    """Return the reference as JSON."""
    return json.dumps([_plain(*section) for section in sections(collectors)], indent=2) + "\n"


def _plain(title: str, collector: Collector | None, infos: Sequence[FamilyInfo]) -> dict[str, object]:
    plain: dict[str, object] = {"section": title}
    if collector is not None:
        plain["interval"] = {"key": f"collectors.{collector.section}.interval", "default_seconds": collector.interval}
        plain["requests"] = list(map(_request, collector.operations))
    plain["metrics"] = [
        {
            "name": info.name,
            "type": info.kind,
            "unit": info.unit,
            "labels": info.labels,
            "stability": stability(info),
            "help": info.help,
        }
        for info in infos
    ]
    return plain


@click.command("metrics")
@form_option("markdown", "json", names=("-o", "--output", "--format"))
@click.option(
    "--config",
    type=click.Path(path_type=Path, readable=False),
    help="A configuration file, whose endpoints and queries are listed too.",
)
def command(form: str, config: Path | None) -> None:
    """Print the reference of the metrics: type, unit, labels and meaning, and how often the collectors poll."""
    collectors = CATALOGUE if config is None else collectors_of(load(config, {}, os.environ))
    click.echo(as_markdown(collectors) if form == "markdown" else as_json(collectors), nl=False)
