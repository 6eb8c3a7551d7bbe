"""Lists the dashboards of `pages/`, with marks of critical alerts, and with rows for metrics that no panel shows."""

from dataclasses import replace

from dashboards.generator.other_metrics import with_remaining
from dashboards.generator.page import Page
from dashboards.generator.pages import database, dns, exporter, overview, scripts, shield, zone
from dashboards.generator.queries import alerts

WRITTEN: tuple[Page, ...] = (
    overview.PAGE,
    dns.PAGE,
    zone.PAGE,
    scripts.PAGE,
    shield.PAGE,
    database.PAGE,
    exporter.PAGE,
)
PAGES = tuple(replace(page, annotations=(alerts.CRITICAL, *page.annotations)) for page in with_remaining(WRITTEN))
