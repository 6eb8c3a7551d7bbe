"""The addresses of the dashboards, and the ways from a row of one to another."""

OVERVIEW = "edge-overview"
DNS = "edge-dns"
SCRIPTS = "edge-scripts"
SHIELD = "edge-shield"
DATABASE = "edge-database"
EXPORTER = "edge-exporter"

# All pages carry it; the menu of each lists the pages that do.
TAG = "edge-exporter"


def to(uid: str, **chosen: str) -> str:
    """Link to a page with the present time range and data source, and variables set from columns of the row."""
    values = "".join(f"&var-{name}=${{__data.fields.{column}}}" for name, column in chosen.items())
    return f"/d/{uid}?${{datasource:queryparam}}&${{__url_time_range}}{values}"
