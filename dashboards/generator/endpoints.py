"""Generates a dashboard for endpoint files, with a row for each file.

`python -m dashboards.generator.endpoints` writes the dashboard of the shipped files, and `--check` compares it. For
your own files, add `--files 'mine/*.yml' --output mine.json`.
"""

from pathlib import Path

import click

from dashboards.generator import declared, variables
from dashboards.generator.grafana import generate
from dashboards.generator.page import Page, Row
from dashboards.generator.selectors import ACCOUNT
from exporter.settings.loading import load
from exporter.wiring.plans import collectors_of

FOLDER = Path("deploy/endpoints")
UID = "edge-endpoints"
_HALF = 12
# An account that completes the settings; it is never called.
_ACCOUNT = {"EDGE_EXPORTER_BASE_URL": "https://api.example.net", "EDGE_EXPORTER_API_KEY": "none"}


def page(files: list[Path]) -> Page:
    """Return the dashboard for endpoint files."""
    return Page(
        uid=UID,
        title="Edge platform / Endpoints",
        about="Metrics of configured endpoints: not in the interface document; tested with recorded answers only.",
        variables=(variables.JOB, variables.ACCOUNTS),
        rows=tuple(_row(file) for file in files),
    )


def _row(file: Path) -> Row:
    """Return a row with a panel for each metric of a file."""
    settings = load(file, None, _ACCOUNT)
    names = {endpoint.name for endpoint in settings.endpoints}
    panels = tuple(
        declared.panel(collector, info, (ACCOUNT,), _HALF)
        for collector in collectors_of(settings)
        if collector.name in names
        for info in collector.families
    )
    return Row(f"{file.stem.replace('_', ' ').capitalize()} (not in the interface document)", panels)


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
