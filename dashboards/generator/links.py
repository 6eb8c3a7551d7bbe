"""Defines the ids of the dashboards, and links from table rows to dashboards and runbooks."""

OVERVIEW = "edge-overview"
DNS = "edge-dns"
ZONE = "edge-zone"
SCRIPTS = "edge-scripts"
SHIELD = "edge-shield"
DATABASE = "edge-database"
EXPORTER = "edge-exporter"

# All pages have this tag. The menu of each page lists the pages with the tag.
TAG = "edge-exporter"

# The default of a hidden variable, which can be set to the address of your own copy of the runbooks.
RUNBOOKS = "https://github.com/edge-exporter/edge-exporter/blob/main/deploy/runbooks"


def to(uid: str, **chosen: str) -> str:
    """Return a link to a page, with the current time range and data source.

    Args:
        uid: the id of the page.
        chosen: variables of the page, each with the column of the row that has its value.
    """
    values = "".join(f"&var-{name}=${{__data.fields.{column}}}" for name, column in chosen.items())
    return f"/d/{uid}?${{datasource:queryparam}}&${{__url_time_range}}{values}"


def runbook(column: str) -> str:
    """Return a link to the runbook of the alert in a column of the row."""
    return f"${{runbooks:raw}}/${{__data.fields.{column}}}.md"
