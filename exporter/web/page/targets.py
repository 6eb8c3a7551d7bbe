"""The lower part of the status page: every target, searched, filtered, sorted, a page at a time."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass

from exporter.cooperative import unhurried
from exporter.web.page.links import PAGE_ROWS, PAGE_SORT, to_explanation, to_targets
from exporter.web.page.markup import foreign, framed, plain, text, when
from exporter.web.page.sparkline import sparkline
from exporter.web.page.wording import ago, compact, count, lapse, plural
from exporter.web.status_models import State, TargetCounts, TargetsView, TargetView
from exporter.web.target_query import LONGEST_SEARCH, MOST_ROWS, Known, Query

_PAGE_SIZES = (PAGE_ROWS, 1000, MOST_ROWS)

# What the collectors with a chart of days count.
_UNITS = {"dns_statistics": "queries", "shield_rate_limits": "breaches"}


@dataclass(frozen=True, slots=True)
class _Head:
    """A column that sorts; `falls` tells that the greatest comes first when it is first chosen."""

    sort: str
    title: str
    falls: bool = False
    kind: str = ""


_HEADS = (
    _Head("state", "State"),
    _Head("name", "Name"),
    _Head("target", "Target"),
    _Head("collector", "Collector"),
    _Head("account", "Account"),
    _Head("age", "Last success", falls=True, kind="number"),
    _Head("duration", "Took", falls=True, kind="number"),
    _Head("chart", "30 days", falls=True, kind="chart"),
)


def form(query: Query, known: Known) -> str:
    """What is asked for, as a form that works by itself."""
    kept = "".join(
        f'<input type="hidden" name="{name}" value="{text(value)}">'
        for name, value in (
            *(("state", state.value) for state in query.states),
            ("sort", "" if query.sort == PAGE_SORT else query.sort),
            ("order", "desc" if query.descending else ""),
            ("limit", "" if query.limit == PAGE_ROWS else str(query.limit)),
        )
        if value
    )
    return (
        '<form id="find" role="search" action="./#targets" method="get">'
        '<label for="search">Search</label>'
        f'<input id="search" type="search" name="search" value="{text(query.search)}" maxlength="{LONGEST_SEARCH}" '
        'placeholder="name, target or reason" autocomplete="off" spellcheck="false">'
        + _select("collector", "Collector", known.collectors, query.collectors)
        + (_select("account", "Account", known.accounts, query.accounts) if len(known.accounts) > 1 else "")
        + f'{kept}<button>Find</button></form><p id="announcer" class="unseen" role="status"></p>'
    )


def _select(name: str, title: str, values: Iterable[str], chosen: Sequence[str]) -> str:
    options = "".join(
        f'<option value="{text(value)}"{" selected" if chosen == (value,) else ""}>{plain(value)}</option>'
        for value in values
    )
    return (
        f'<label for="{name}">{title}</label><select id="{name}" name="{name}">'
        f'<option value="">all</option>{options}</select>'
    )


def states(query: Query, counts: TargetCounts) -> str:
    """How many are in which state, as links to these."""
    unwell = (State.FAILING, State.STALE)
    if query.states == unwell:
        unwell_link = _choice("failing or stale", counts.failing + counts.stale, query, unwell)
    else:
        unwell_link = ""
    links = [_choice("all", counts.total, query, ()), unwell_link]
    links += [_choice(state, getattr(counts, state), query, (state,)) for state in (State.OK, *unwell, State.PENDING)]
    return f'<ul class="choices" aria-label="State">{"".join(links)}</ul>'


def _choice(name: str, number: int, query: Query, wanted: tuple[State, ...]) -> str:
    current = ' aria-current="true"' if query.states == wanted else ""
    kind = f' class="state {name}"' if number and len(wanted) == 1 else ""
    return (
        f'<li><a id="state-{name.replace(" ", "-")}" href="{to_targets(query.but(states=wanted))}"'
        f"{current} data-swap><span{kind}>{name}</span> {count(number)}</a></li>"
    )


def _sorting(head: _Head, query: Query) -> str:
    is_current = query.sort == head.sort
    descending = not query.descending if is_current else head.falls
    href = to_targets(query.but(sort=head.sort, descending=descending))
    direction = ("descending" if query.descending else "ascending") if is_current else ""
    sorted_so = f' aria-sort="{direction}"' if direction else ""
    kind = f' class="{head.kind}"' if head.kind else ""
    return f'<th scope="col"{kind}{sorted_so}><a id="sort-{head.sort}" href="{href}" data-swap>{head.title}</a></th>'


def _name(target: TargetView) -> str:
    if not target.name:
        return '<th scope="row" class="cut none">no name</th>'
    return f'<th scope="row" class="cut" title="{plain(target.name)}">{foreign(target.name)}</th>'


def _counted(target: TargetView) -> str:
    """Name what a target's chart counts."""
    unit = _UNITS.get(target.collector)
    return f" {unit}" if unit else ""


def _row(target: TargetView, now: float, *, shows_account: bool) -> str:
    chart = sparkline(target.chart)
    shown = f"{chart}<span>{compact(sum(target.chart))}{_counted(target)}</span>" if chart else ""
    success = ago(None) if target.last_success is None else when(target.last_success, now)
    account = f"<td>{foreign(target.account)}</td>" if shows_account else ""
    took = "" if target.duration is None else lapse(target.duration)
    note = target.message or target.reason
    explained = f'<a href="{to_explanation(target.account, target.target)}">{foreign(target.target)}</a>'
    noted = f'<td class="note" title="{plain(note)}">{foreign(note)}</td>' if note else "<td></td>"
    return (
        f'<tr><td><span class="state {target.state}">{target.state}</span></td>{_name(target)}'
        f'<td class="key cut">{explained}</td><td class="collector">{text(target.collector)}</td>{account}'
        f'<td class="number" data-head="Last success">{success}</td>'
        f'<td class="number" data-head="Took">{took}</td><td class="chart">{shown}</td>{noted}</tr>'
    )


def _pages(query: Query, found: TargetsView) -> str:
    """Links to the other pages, and to pages of other sizes."""
    links = []
    if query.offset:
        before = query.but(offset=max(0, query.offset - query.limit))
        links.append(f'<a id="page-before" rel="prev" href="{to_targets(before)}" data-swap>Previous</a>')
    if query.offset + query.limit < found.matched:
        after = query.but(offset=query.offset + query.limit)
        links.append(f'<a id="page-after" rel="next" href="{to_targets(after)}" data-swap>Next</a>')
    if found.matched > PAGE_ROWS:
        sizes = [
            f'<a id="size-{size}" href="{to_targets(query.but(limit=size))}" data-swap'
            f"{' aria-current=true' if size == query.limit else ''}>{count(size)}</a>"
            for size in _PAGE_SIZES
        ]
        links.append(f"<span>{' · '.join(sizes)} a page</span>")
    return f'<nav class="pages" aria-label="Pages of targets">{"".join(links)}</nav>' if links else ""


async def table(
    query: Query, found: TargetsView, now: float, monotonic: Callable[[], float], *, shows_account: bool
) -> AsyncIterator[str]:
    """The found targets, piece by piece: ten thousand rows take their time."""
    first, last = found.offset + 1, found.offset + len(found.targets)
    words = f"{count(first)} to {count(last)} of {plural(found.matched, 'target')}"
    if not found.targets:
        words = "No target is like that." if found.total else "There is no target yet."
    elif len(found.targets) == found.matched:
        words = plural(found.matched, "target")
    heads = "".join(_sorting(head, query) for head in _HEADS if shows_account or head.sort != "account")
    yield f'<p id="found">{words}</p>'
    if found.targets:
        frame, end = framed("Targets", "\n").split("\n")
        yield (
            f"{frame}<caption>Targets, once for each collector that polls them</caption>"
            f'<thead><tr>{heads}<th scope="col">Note</th></tr></thead><tbody>'
        )
        async for target in unhurried(found.targets, monotonic):
            yield _row(target, now, shows_account=shows_account)
        yield f"</tbody>{end}"
    yield _pages(query, found)
