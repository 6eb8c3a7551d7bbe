"""Makes the dashboard of the shipped endpoint files, with a row for each file."""

from pathlib import Path

from dashboards.generator import declared, variables
from dashboards.generator.page import Page, Row
from dashboards.generator.selectors import ACCOUNT
from exporter.settings.loading import load
from exporter.wiring.plans import collectors_of

FOLDER = Path("deploy/endpoints")
UID = "edge-endpoints"
_HALF = 12
# An account that completes the settings; it is never called.
_ACCOUNT = {"EDGE_EXPORTER_BASE_URL": "https://api.example.net", "EDGE_EXPORTER_API_KEY": "none"}


def page() -> Page:
    """Return the dashboard of the shipped endpoint files."""
    return Page(
        uid=UID,
        title="Edge platform / Endpoints",
        about="Metrics of configured endpoints: not in the interface document; tested with recorded answers only.",
        variables=(variables.JOB, variables.ACCOUNTS),
        rows=tuple(_row(file) for file in sorted(FOLDER.glob("*.yml"))),
    )


def _row(file: Path) -> Row:
    settings = load(file, {}, _ACCOUNT)
    names = {endpoint.name for endpoint in settings.endpoints}
    panels = tuple(
        declared.panel(collector, info, (ACCOUNT,), _HALF)
        for collector in collectors_of(settings)
        if collector.name in names
        for info in collector.families
    )
    return Row(f"{file.stem.replace('_', ' ').capitalize()} (not in the interface document)", panels)
