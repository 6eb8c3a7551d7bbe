"""The status page: the whole of its HTML, which works without its script."""

from collections.abc import AsyncIterator, Callable, Mapping

from exporter.web.page import overview, targets
from exporter.web.page.assets import Asset
from exporter.web.page.markup import text
from exporter.web.page.wording import instant, moment
from exporter.web.status_models import StatusView, TargetCounts, TargetsView
from exporter.web.target_query import Known, Query

# How often an open page looks again; a long one costs more and is left alone for longer.
REFRESH_SECONDS = 5
LONG_REFRESH_SECONDS = 60
LONG_PAGE = 250

_LINKS = (
    ("metrics", "Metrics"),
    ("explain", "Absent families"),
    ("api/v1/", "API"),
    ("-/healthy", "Health"),
    ("-/ready", "Readiness"),
)


async def render_page(
    status: StatusView,
    found: TargetsView,
    counts: TargetCounts,
    query: Query,
    known: Known,
    *,
    assets: Mapping[str, Asset],
    monotonic: Callable[[], float],
) -> AsyncIterator[str]:
    """The page as HTML, piece by piece; every text that comes from the platform is escaped.

    Args:
        status: the exporter as a whole.
        found: the targets that are asked for.
        counts: how these fare, in whatever state they are.
        query: what is asked for.
        known: what might be.
        assets: the style sheet, the script and the icon.
        monotonic: a clock in seconds.
    """
    unwell = status.targets.failing + status.targets.stale
    title = f"{unwell} failing · edge-exporter" if unwell else "edge-exporter"
    yield document(title, status.now, assets, status.version)
    yield overview.summary(status)
    shows_account = len(known.accounts) > 1
    failures = overview.failures(status.failures, status.now, shows_account=shows_account)
    yield f'<div class="pair"><div>{overview.accounts(status.accounts)}'
    yield f"{failures}</div>{overview.collectors(status.collectors)}</div>{overview.shards(status.leases)}"
    yield '<section id="targets" aria-labelledby="targets-title"><h2 id="targets-title">Targets</h2>'
    yield targets.form(query, known)
    seconds = LONG_REFRESH_SECONDS if len(found.targets) > LONG_PAGE else REFRESH_SECONDS
    yield f'<div id="answer" data-live data-refresh="{seconds}">{targets.states(query, counts)}'
    async for piece in targets.table(query, found, status.now, monotonic, shows_account=shows_account):
        yield piece
    yield "</div></section></main></body></html>\n"


def document(title: str, now: float, assets: Mapping[str, Asset], version: str = "", *, is_live: bool = True) -> str:
    """The beginning of a page, up to its content.

    Args:
        title: the document's title.
        now: unix seconds at which the content holds.
        assets: the style sheet, the script and the icon.
        version: the exporter's version; empty where the page does not show it.
        is_live: whether the page's script keeps it up to date.
    """
    icon = assets["icon.svg"].link
    script = f'<script src="{assets["page.js"].link}" defer></script>' if is_live else ""
    links = "".join(f'<a href="{target}">{name}</a>' for target, name in _LINKS)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title>'
        f'<link rel="stylesheet" href="{assets["page.css"].link}"><link rel="icon" href="{icon}" type="image/svg+xml">'
        f"{script}</head><body>"
        '<a class="skip" href="#targets">Skip to the targets</a>'
        f'<header><h1><img src="{icon}" alt="" width="28" height="28">edge-exporter '
        f'<span class="version">{text(version)}</span></h1><nav aria-label="Endpoints">{links}</nav>'
        f'<p id="as-of" data-live>As of <time datetime="{instant(now)}">{moment(now)}</time></p>'
        "</header><main>"
    )
