"""Renders the HTML pages from templates; they work without their script."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from exporter.cooperative import unhurried
from exporter.explain.evidence import moment
from exporter.web.explanation import Explanation, Question
from exporter.web.page import wording
from exporter.web.page.assets import Asset
from exporter.web.page.links import PAGE_ROWS, PAGE_SORT, asking, to_explanation, to_targets
from exporter.web.page.sparkline import sparkline
from exporter.web.page.verdict import verdict
from exporter.web.status_models import FailureView, State, StatusView, TargetCounts, TargetsView, credential_of
from exporter.web.target_query import LONGEST_SEARCH, MOST_ROWS, Known, Query

# How often an open page reloads; longer pages cost more, and reload less often.
REFRESH_SECONDS = 5
LONG_REFRESH_SECONDS = 60
LONG_PAGE = 250
# The number of template pieces that are joined before the event loop may run.
BUFFERED = 10

_FILTERS = (
    wording.ago,
    wording.ahead,
    wording.compact,
    wording.count,
    wording.foreign,
    wording.instant,
    wording.interval,
    wording.lapse,
    moment,
    wording.plain,
    wording.plural,
    wording.rate,
    sparkline,
)
_GLOBALS = {
    "MOST_FAILURES": 12,
    "LONGEST_SEARCH": LONGEST_SEARCH,
    "PAGE_ROWS": PAGE_ROWS,
    "PAGE_SIZES": (PAGE_ROWS, 1000, MOST_ROWS),
    "PAGE_SORT": PAGE_SORT,
    "STATES": (State.OK, State.FAILING, State.STALE, State.PENDING),
    "UNWELL": (State.FAILING, State.STALE),
    # The unit of each chart of days.
    "UNITS": {"dns_statistics": "queries", "shield_rate_limits": "breaches"},
    # The sortable columns: key, title, whether the largest value comes first, and the CSS class of the cells.
    "HEADS": (
        ("state", "State", False, ""),
        ("name", "Name", False, ""),
        ("target", "Target", False, ""),
        ("collector", "Collector", False, ""),
        ("account", "Account", False, ""),
        ("age", "Last success", True, "number"),
        ("duration", "Took", True, "number"),
        ("chart", "30 days", True, "chart"),
    ),
    "asking": asking,
    "credential_of": credential_of,
    "to_explanation": to_explanation,
    "to_targets": to_targets,
}


class Pages:
    """Renders the pages; jinja2 escapes every text that is not markup.

    Args:
        monotonic: a clock in seconds.
        assets: the style sheet, the script and the icon by name.
    """

    def __init__(self, monotonic: Callable[[], float], assets: Mapping[str, Asset]) -> None:
        self._monotonic = monotonic
        environment = Environment(
            loader=PackageLoader("exporter.web.page"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters |= {shown.__name__: shown for shown in _FILTERS}
        environment.globals |= {**_GLOBALS, "assets": assets}
        self._status = environment.get_template("status.html")
        self._explanation = environment.get_template("explanation.html")

    def status(
        self, status: StatusView, found: TargetsView, counts: TargetCounts, query: Query, known: Known
    ) -> AsyncIterator[str]:
        """Render the status page, piece by piece.

        Args:
            status: the exporter as a whole.
            found: the targets to show.
            counts: the states of the targets, whatever states the query asks for.
            query: the query that found them.
            known: the collectors and accounts that a query may name.
        """
        stream = self._status.stream(
            now=status.now,
            version=status.version,
            status=status,
            unwell=status.targets.failing + status.targets.stale,
            verdict=verdict(status),
            failures=_alike(status.failures),
            shows_account=len(known.accounts) > 1,
            found=found,
            words=_words(found),
            counts=counts,
            query=query,
            known=known,
            refresh=LONG_REFRESH_SECONDS if len(found.targets) > LONG_PAGE else REFRESH_SECONDS,
        )
        stream.enable_buffering(BUFFERED)
        return unhurried(stream, self._monotonic)

    def explanation(self, found: Explanation, question: Question) -> AsyncIterator[str]:
        """Render the page of absent families, piece by piece.

        Args:
            found: the absences.
            question: the query, and which rows of its answer the page shows.
        """
        asked = ", ".join(sorted(question.wanted.targets | question.wanted.families))
        stream = self._explanation.stream(now=found.now, version="", found=found, asked=asked)
        stream.enable_buffering(BUFFERED)
        return unhurried(stream, self._monotonic)


def _alike(failures: Sequence[FailureView]) -> list[list[FailureView]]:
    """Group the failures of an account that differ only in their collector, in their order."""
    alike: dict[tuple[str, str, str], list[FailureView]] = {}
    for failure in failures:
        alike.setdefault((failure.account, failure.reason, failure.message), []).append(failure)
    return list(alike.values())


def _words(found: TargetsView) -> str:
    """Describe which of the found targets the page shows."""
    if not found.targets:
        return "No target matches." if found.total else "There are no targets yet."
    matched = wording.plural(found.matched, "target")
    if len(found.targets) == found.matched:
        return matched
    first, last = found.offset + 1, found.offset + len(found.targets)
    return f"{wording.count(first)} to {wording.count(last)} of {matched}"
