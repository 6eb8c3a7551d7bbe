"""Lists all pages."""

from dashboards.generator.page import Page
from dashboards.generator.pages import database, dns, exporter, overview, scripts, shield, zone
from dashboards.generator.without_panel import with_remaining

WRITTEN: tuple[Page, ...] = (
    overview.PAGE,
    dns.PAGE,
    zone.PAGE,
    scripts.PAGE,
    shield.PAGE,
    database.PAGE,
    exporter.PAGE,
)
PAGES = with_remaining(WRITTEN)
