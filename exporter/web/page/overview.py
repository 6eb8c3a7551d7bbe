"""The upper part of the status page: how the exporter, its accounts and its collectors fare, and what fails."""

from collections.abc import Iterator, Sequence

from exporter.web.page.links import asking, to_targets
from exporter.web.page.markup import NOTHING, Column, foreign, plain, table, text, when
from exporter.web.page.wording import ago, ahead, count, interval, lapse, moment, plural, rate
from exporter.web.status_models import (
    AccountView,
    CollectorView,
    FailureView,
    ShardView,
    State,
    StatusView,
    credential_of,
)
from exporter.web.target_query import Query

_BAR = 96
_FULL = 1.0
_MOST_FAILURES = 12
_UNWELL = (State.FAILING, State.STALE)


def verdict(status: StatusView) -> tuple[str, str]:
    """The one sentence that matters most, after its kind: `ok`, `warn` or `bad`."""
    counts = status.targets
    unwell = counts.failing + counts.stale
    if status.ailment:
        return "bad", f"Unhealthy: {status.ailment}."
    if unwell:
        return "bad", f"{count(unwell)} of {plural(counts.total, 'target')} {_how(unwell, counts.stale)}."
    if status.waits_for:
        return "warn", f"Not ready: {status.waits_for}."
    if counts.pending:
        verb = "waits" if counts.pending == 1 else "wait"
        return "warn", f"{count(counts.pending)} of {plural(counts.total, 'target')} {verb} for the first poll."
    if not counts.total:
        return "warn", "There is nothing to poll."
    whole = "The one target" if counts.total == 1 else f"All {count(counts.total)} targets"
    return "ok", f"{whole} answered {'its' if counts.total == 1 else 'their'} last poll."


def _how(unwell: int, stale: int) -> str:
    """How so many targets fare, of which some have failed for so long that they are stale."""
    if unwell == 1:
        return "is stale" if stale else "fails"
    if not stale:
        return "fail"
    return f"fail, {count(stale) if stale < unwell else 'all'} of them stale"


def _notices(status: StatusView) -> Iterator[str]:
    yield from _notices_of_the_whole(status)
    for account in status.accounts:
        yield from _notices_of(account, is_ready=not status.waits_for)


def _notices_of_the_whole(status: StatusView) -> Iterator[str]:
    if status.waits_for and status.targets.failing + status.targets.stale:
        yield f"Not ready: {foreign(status.waits_for)}."
    if status.config_faults:
        faults = "".join(f"<li>{foreign(fault)}</li>" for fault in status.config_faults)
        yield f"The last reload was refused; the configuration of before is in force.<ul>{faults}</ul>"
    for account, name in status.unmatched_budgets:
        yield f"monthly_budget_dollars of {foreign(account)} names {foreign(name)}, and no script has that name or id."
    if status.ledger is not None and not status.ledger.saves:
        yield "The counters cannot be saved: they do not move, or are not served, until they can, and catch up then."
    if status.ledger is not None and status.ledger.set_aside is not None:
        found = when(status.ledger.set_aside, status.now)
        yield f"The state file could not be used as it was found {found}: counters may have started anew."


def _notices_of(account: AccountView, *, is_ready: bool) -> Iterator[str]:
    # While it is not ready, what it waits for says so already.
    if account.reason == "unauthorized" and is_ready:
        yield f"The {foreign(credential_of(account.account))} is not accepted."
    if account.paused:
        yield f"{foreign(account.account)} is not polled for {lapse(account.paused)}: the platform answered 429."
    limit, allowed = _binding(account)
    if account.demand > allowed:
        yield (
            f"{foreign(account.account)} asks for {rate(account.demand)} requests/s and {limit} allows "
            f"{rate(allowed)}: its intervals are stretched."
        )


def _binding(account: AccountView) -> tuple[str, float]:
    """The limit of an account's budget that binds, and the requests a second that it allows."""
    return min(account.limits.items(), key=lambda item: item[1])


def _facts(status: StatusView) -> Iterator[tuple[str, str]]:
    yield "Series", count(status.series)
    yield (
        "Running for",
        f'<span title="since {text(moment(status.started))}">{lapse(status.now - status.started)}</span>',
    )
    refused = ", a later one refused" if status.config_faults else ""
    yield "Configuration", f"loaded {when(status.config_loaded, status.now)}{refused}"
    if status.ledger is not None:
        kept = "kept in the state file" if status.ledger.durable else "not persisted"
        yield "Counters", kept if status.ledger.saves else "the last write failed"
    if status.leases:
        yield "Shards", f"{', '.join(map(str, status.held)) or 'none'} of {status.shards}"
    elif status.shards > 1:
        yield "Shard", f"{status.shard + 1} of {status.shards}"


def summary(status: StatusView) -> str:
    """The verdict, what else is to be known, and the facts."""
    kind, sentence = verdict(status)
    notices = "".join(f"<li>{notice}</li>" for notice in _notices(status))
    facts = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in _facts(status))
    return (
        f'<section id="summary" aria-label="Summary" data-live><p class="verdict {kind}">{plain(sentence)}</p>'
        + (f'<ul class="notices">{notices}</ul>' if notices else "")
        + f'<dl class="facts">{facts}</dl></section>'
    )


def shards(seen: Sequence[ShardView]) -> str:
    """Which exporter holds which shards; empty where shards do not change hands."""
    if not seen:
        return ""
    held: dict[str, list[ShardView]] = {}
    for shard in seen:
        held.setdefault(shard.holder, []).append(shard)
    rows = (
        (
            _holder(holder, is_own=any(shard.own for shard in own)),
            ", ".join(str(shard.shard) for shard in own),
            count(len(own)),
        )
        for holder, own in sorted(held.items())
    )
    columns = (Column("Exporter"), Column("Shards"), Column("Number", "number"))
    return _section("shards", "Shards", table("Shards and their exporters", columns, rows))


def _holder(holder: str, *, is_own: bool) -> str:
    if not holder:
        return '<span class="state failing">no exporter</span>'
    host, _, rest = holder.partition("/")
    process = rest.partition("/")[0]
    name = f'<span title="{text(holder)}">{foreign(host)}, process {foreign(process)}</span>'
    return f"{name} (this one)" if is_own else name


def _state(account: AccountView) -> str:
    if account.up:
        return '<span class="state ok">answers</span>'
    return f'<span class="state failing">{foreign(account.reason) if account.reason else "no answer yet"}</span>'


def _budget(account: AccountView) -> str:
    _, allowed = _binding(account)
    share = account.demand / allowed if allowed else _FULL
    width = min(_FULL, share) * _BAR
    over = " over" if share > _FULL else ""
    return (
        f'<svg class="bar{over}" viewBox="0 0 {_BAR} 6" width="{_BAR}" height="6" aria-hidden="true">'
        f'<rect width="{_BAR}" height="6" rx="3"/><rect class="used" width="{width:.1f}" height="6" rx="3"/></svg> '
        f"{rate(account.demand)} of {rate(allowed)}"
    )


def _unwell(number: int, query: Query) -> str:
    """A count of failing targets, which leads to them."""
    if not number:
        return '<span class="none">0</span>'
    return f'<a class="state failing" href="{to_targets(query)}" data-swap>{count(number)}</a>'


def accounts(seen: Sequence[AccountView]) -> str:
    """The accounts and databases."""
    rows = (
        (
            foreign(account.account),
            _state(account),
            _budget(account),
            f'<a href="{to_targets(asking(accounts=(account.account,)))}" data-swap>{count(account.targets)}</a>',
            _unwell(account.failing, asking(accounts=(account.account,), states=_UNWELL)),
        )
        for account in seen
    )
    columns = (
        Column("Account"),
        Column("State"),
        Column(
            "Budget, requests/s",
            "",
            "requests a second that the targets and intervals ask for, of those that may be sent",
        ),
        Column("Targets", "number"),
        Column("Failing", "number"),
    )
    return _section("accounts", "Accounts", table("Accounts and databases", columns, rows))


def collectors(seen: Sequence[CollectorView]) -> str:
    """The collectors."""
    rows = (_collector(collector) for collector in seen)
    columns = (
        Column("Collector"),
        Column("Targets", "number"),
        Column("Failing", "number"),
        Column("Every", "number", "time between two polls of a target"),
        Column("Next poll", "number"),
        Column("Last took", "number", "time that the last poll of a target took"),
    )
    return _section("collectors", "Collectors", table("Collectors", columns, rows))


def _collector(seen: CollectorView) -> tuple[str, ...]:
    own = asking(collectors=(seen.collector,))
    return (
        f'<a href="{to_targets(own)}" data-swap>{text(seen.collector)}</a>',
        count(seen.targets) if seen.targets else '<span class="none">0</span>',
        _unwell(seen.failing, own.but(states=_UNWELL)),
        _every(seen),
        ahead(seen.next_run) if seen.targets else NOTHING,
        NOTHING if seen.last_duration is None else lapse(seen.last_duration),
    )


def _every(collector: CollectorView) -> str:
    configured = interval(collector.interval)
    if collector.effective_interval <= collector.interval * 1.005:
        return configured
    return f'<span class="stale">{lapse(collector.effective_interval)}</span> <s>{configured}</s>'


def failures(seen: Sequence[FailureView], now: float, *, shows_account: bool) -> str:
    """What fails at the moment, the newest first; once for all collectors of an account with which it fails alike."""
    if not seen:
        return _section("failures", "Last errors", '<p class="none">Nothing fails at the moment.</p>')
    alike: dict[tuple[str, str, str], list[FailureView]] = {}
    for failure in seen:
        alike.setdefault((failure.account, failure.reason, failure.message), []).append(failure)
    shown = list(alike.values())[:_MOST_FAILURES]
    items = "".join(_failure(group, now, shows_account=shows_account) for group in shown)
    rest = len(alike) - _MOST_FAILURES
    more = f'<p><a href="{to_targets(asking(states=_UNWELL))}" data-swap>All that fails</a></p>' if rest > 0 else ""
    return _section("failures", "Last errors", f'<ul class="errors">{items}</ul>{more}')


def _failure(group: Sequence[FailureView], now: float, *, shows_account: bool) -> str:
    failure, collectors = group[0], tuple(sorted(one.collector for one in group))
    alike = asking(accounts=(failure.account,), collectors=collectors, states=_UNWELL)
    name = f"{foreign(failure.name)} " if failure.name else ""
    targets = sum(one.targets for one in group)
    others = f" and {count(targets - 1)} more" if targets > 1 else ""
    account = f'<span class="by">{foreign(failure.account)}</span> ' if shows_account else ""
    polled = when(failure.last_poll, now) if failure.last_poll else ago(None)
    return (
        f'<li><p><span class="state failing">{foreign(failure.reason)}</span> '
        f'<a href="{to_targets(alike)}" data-swap>{name}<span class="key">{foreign(failure.target)}</span>{others}</a> '
        f'{account}<span class="by">{text(", ".join(collectors))}</span> {polled}</p>'
        + (f'<p class="message">{foreign(failure.message)}</p>' if failure.message else "")
        + "</li>"
    )


def _section(name: str, title: str, content: str) -> str:
    return (
        f'<section id="{name}" aria-labelledby="{name}-title" data-live>'
        f'<h2 id="{name}-title">{title}</h2>{content}</section>'
    )
