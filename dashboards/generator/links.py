"""The addresses of the dashboards, and the ways from a row of one to another."""

OVERVIEW = "edge-overview"
DNS = "edge-dns"
ZONE = "edge-zone"
SCRIPTS = "edge-scripts"
SHIELD = "edge-shield"
DATABASE = "edge-database"
EXPORTER = "edge-exporter"

# All pages carry it; the menu of each lists the pages that do.
TAG = "edge-exporter"

# The folder of the runbooks, a choice that is not shown: an organisation with runbooks of its own sets another.
RUNBOOKS = "https://github.com/edge-exporter/edge-exporter/blob/main/deploy/runbooks"


def to(uid: str, **chosen: str) -> str:
    """Link to a page with the present time range and data source, and variables set from columns of the row."""
    values = "".join(f"&var-{name}=${{__data.fields.{column}}}" for name, column in chosen.items())
    return f"/d/{uid}?${{datasource:queryparam}}&${{__url_time_range}}{values}"


def runbook(column: str) -> str:
    """Link to the runbook of the alert that a column of the row names."""
    return f"${{runbooks:raw}}/${{__data.fields.{column}}}.md"
