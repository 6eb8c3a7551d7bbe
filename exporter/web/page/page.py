"""Renders the HTML pages from templates; they work without their script."""

import platform as python_platform
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from exporter.assets.shipped import REPOSITORY
from exporter.explain.cause import Cause, moment
from exporter.platform.errors import RateLimited
from exporter.web.page import wording
from exporter.web.page.wording import compact, count, plural
from exporter.web.readiness import credential_of
from exporter.web.status import Census, Json
from exporter.web.target_query import LONGEST_SEARCH, MOST_ROWS, ON_PAGE, UNWELL, FilterValues, State, TargetQuery

if TYPE_CHECKING:
    from jinja2 import Environment

_CHART_WIDTH = 120
_CHART_TOP = 3
_CHART_BOTTOM = 25


def to_targets(query: TargetQuery) -> str:
    """Return a link to the status page that shows the targets of a query, and scrolls to them."""
    asked = query.encoded(ON_PAGE)
    return f"./?{asked}#targets" if asked else "./#targets"


def to_explanation(target: str) -> str:
    """Return a link to the page that names the absent families of a target and their causes."""
    return "explain?" + urlencode({"target": target}, errors="replace")


def to_target(account: str, target: str) -> str:
    """Link to the page of a target, such as `dns_zone/102`."""
    path = quote(target.encode("utf-8", "replace"))
    return f"target/{path}?{urlencode({'account': account}, errors='replace')}"


def sparkline(chart: Sequence[float]) -> dict[str, str]:
    """Draw a chart of at least two days, 120 by 28 pixels: its line, the end of the last whole day, and a dot.

    The line begins at zero, so that half the height is half the count. The newest day, which has not ended, is a
    separate dot.
    """
    highest = max(chart)
    scale = (_CHART_BOTTOM - _CHART_TOP) / highest if highest > 0 else 0.0
    step = (_CHART_WIDTH - 8) / (len(chart) - 1)
    places = [f"{4 + index * step:.0f} {_CHART_BOTTOM - value * scale:.0f}" for index, value in enumerate(chart)]
    x, y = places[-1].split()
    least, most, newest = (compact(value) for value in (min(chart[:-1]), max(chart[:-1]), chart[-1]))
    title = f"{plural(len(chart), 'day')}: {least} to {most} a day, {newest} so far on the newest"
    return {"title": title, "line": "L".join(places[:-1]), "over": places[-2].split()[0], "x": x, "y": y}


def verdict(status: Json) -> tuple[str, str]:
    """Return the sentence about the worst part of the state, after its kind: `ok`, `warn` or `bad`."""
    targets = status["targets"]
    failing, stale = targets[State.FAILING], targets[State.STALE]
    pending, ok = targets[State.PENDING], targets[State.OK]
    unwell, total = failing + stale, plural(sum(targets.values()), "target")
    fail = ("is stale" if stale else "fails") if unwell == 1 else "fail"
    if stale and unwell > 1:
        fail += f", {count(stale) if failing else 'all'} of them stale"
    waiting = f"{'waits' if pending == 1 else 'wait'} for the first poll"
    also = f"; {count(pending)} {waiting}" if pending else ""
    worst_first = (
        (status["ailment"], "bad", f"Unhealthy: {status['ailment']}."),
        (unwell, "bad", f"{count(unwell)} of {total} {fail}{also}."),
        (status["waits_for"], "warn", f"Not ready: {status['waits_for']}{also}."),
        (status["spare"], "warn", f"{status['spare']}.".capitalize()),
        (pending, "warn", f"{count(pending)} of {total} {waiting}."),
        (not ok, "warn", "There is nothing to poll."),
        (ok == 1, "ok", "The one target answered its last poll."),
        (True, "ok", f"All {total} answered their last poll."),
    )
    return next((kind, sentence) for holds, kind, sentence in worst_first if holds)


_FILTERS = (
    *(wording.ago, wording.ahead, wording.instant, wording.interval, wording.lapse, moment),
    *(wording.compact, wording.count, wording.plural, wording.figure, wording.rate, sparkline),
    *(wording.foreign, wording.named, wording.plain),
)
_GLOBALS = {
    "LONGEST_SEARCH": LONGEST_SEARCH,
    "ON_PAGE": ON_PAGE,
    "MOST_ROWS": MOST_ROWS,
    "UNWELL": UNWELL,
    "HAS_NONE": Cause.PLATFORM_HAS_NONE.words,
    "build": f"Python {python_platform.python_version()}, {python_platform.system()} {python_platform.machine()}",
    "credential_of": credential_of,
    "repository": REPOSITORY,
    "to_explanation": to_explanation,
    "to_target": to_target,
    "to_targets": to_targets,
}


@lru_cache
def _environment() -> "Environment":
    """Return the templates, each of which is compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only pages need it

    environment = Environment(
        loader=PackageLoader("exporter.web.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {shown.__name__: shown for shown in _FILTERS}
    environment.globals |= _GLOBALS
    return environment


def render(template: str, values: Json) -> str:
    """Render a template, which escapes every text that is not markup; the value `root` leads to the status page."""
    return _environment().get_template(template).render({"root": "", **values})


def status_values(status: Json, found: Json, counts: Census, query: TargetQuery, known: FilterValues) -> Json:
    """Return the values of the status page with the targets that a query found.

    `counts` has the states of the targets, whatever states the query asks for.
    """
    return {
        "now": status["now"],
        "status": status,
        "unwell": sum(status["targets"][state] for state in UNWELL),
        "verdict": verdict(status),
        "failures": _alike(status["failures"]),
        "shows_account": len(known.accounts) > 1,
        "found": found,
        "counts": counts,
        "query": query,
        "known": known,
    }


def _alike(failures: Sequence[Json]) -> list[list[Json]]:
    """Group the failures of an account that differ only in their collector, in their order."""
    alike: dict[tuple[str, str, str], list[Json]] = {}
    for failure in failures:
        # While an account is paused, the messages differ in the seconds that are left.
        message = "" if failure["reason"] == RateLimited.reason else failure["message"]
        alike.setdefault((failure["account"], failure["reason"], message), []).append(failure)
    return list(alike.values())
