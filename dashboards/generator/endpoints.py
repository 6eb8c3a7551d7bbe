"""Generates the dashboard of endpoint files from their declarations, with a row for each file.

`python -m dashboards.generator.endpoints` writes that of the ready files, `--check` compares it. For your own files:
`--files 'mine/*.yml' --output mine.json`.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from dashboards.generator import variables
from dashboards.generator.colours import NEUTRAL
from dashboards.generator.grafana import generate
from dashboards.generator.page import Page, Panel, Query, Row, Table, TimeSeries
from dashboards.generator.promql import highest, top
from dashboards.generator.selectors import ACCOUNT, gauge, rate
from exporter.collectors.collector import Collector
from exporter.metric import FamilyInfo, Kind
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.validation.types import format_duration
from exporter.validation.yaml_file import MarkedFile
from exporter.wiring import from_settings

FOLDER = Path("deploy/endpoints")
UID = "edge-endpoints"
_UNITS = {"bytes": "bytes", "seconds": "s", "dollars": "currencyUSD", "ratio": "percentunit"}
_RATES = {"bytes": "Bps", "seconds": "s", "dollars": "currencyUSD"}
_ACT = "A gap: the endpoint no longer answers as recorded; `edge-exporter check` shows what fails."
_HALF = 12
_MOST_ROWS = 200
# Nothing is contacted: only the declarations of the settings are read.
_ACCOUNT = {"EDGE_EXPORTER_BASE_URL": "https://api.example.net", "EDGE_EXPORTER_API_KEY": "none"}


def page(files: list[Path]) -> Page:
    """Return the dashboard of these files."""
    return Page(
        uid=UID,
        title="Edge platform / Endpoints",
        about="What configured endpoints read: not documented in the interface; tested on recorded shapes only.",
        variables=(variables.JOB, variables.ACCOUNTS),
        rows=tuple(_row(file) for file in files),
        ranked=True,
    )


def _row(file: Path) -> Row:
    configuration = MarkedFile("", {"endpoint_files": [str(file.absolute())]})
    settings = load(configuration, None, _ACCOUNT)
    panels = tuple(_panel(info, collector) for collector in _collectors(settings) for info in collector.families)
    return Row(f"{file.stem.replace('_', ' ').capitalize()} (not documented in the interface)", panels)


def _collectors(settings: Settings) -> Iterator[Collector]:
    names = {endpoint.name for endpoint in settings.endpoints}
    return (collector for collector in from_settings.collectors(settings) if collector.name in names)


def _panel(info: FamilyInfo, collector: Collector) -> Panel:
    step = format_duration(collector.interval)
    words = info.name.removeprefix("edge_").removesuffix("_total").removesuffix("_info").replace("_", " ")
    title = words.capitalize()
    if info.name.endswith("_info"):
        query = Query(highest(top(gauge(info.name, ACCOUNT), _MOST_ROWS), *info.labels), step=step)
        return Panel(title, info.help, _ACT, Table(sort="Value"), (query,), _HALF)
    # If a target has a name, the legend leaves its id out.
    shown = [label for label in info.labels if f"{label}_id" in info.labels or not label.endswith("_id")]
    legend = " ".join(f"{{{{{label}}}}}" for label in shown if label != "account") or "{{account}}"
    expr = rate(info.name, ACCOUNT) if info.kind is Kind.COUNTER else gauge(info.name, ACCOUNT)
    if info.kind is Kind.COUNTER:
        title, units = f"{title}, a second", _RATES
    else:
        units = _UNITS
    view = TimeSeries(unit=units.get(info.unit, "short"), least=None, steps=NEUTRAL)
    return Panel(title, info.help, _ACT, view, (Query(top(highest(expr, *info.labels)), legend, step),), _HALF)


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail where the file differs.")
@click.option("--files", default=str(FOLDER / "*.yml"), show_default=True, help="The endpoint files, a pattern.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=FOLDER / f"{UID}.json",
    show_default=True,
    help="The dashboard's file.",
)
def main(*, check: bool, files: str, output: Path) -> None:
    """Generate the dashboard of endpoint files."""
    text = generate(page(sorted(Path().glob(files))))
    if not check:
        output.write_text(text, encoding="utf-8")
    elif not output.exists() or output.read_text(encoding="utf-8") != text:
        click.echo(f"{output} is not what the code generates", err=True)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
