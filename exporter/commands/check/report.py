"""Describes the results of a check: a row for each fault, and one row for many good targets of a collector."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import NamedTuple

from exporter.collectors.catalogue import CATALOGUE
from exporter.commands.check.results import AccountResult, TargetResult
from exporter.commands.output.printing import counted
from exporter.explain.cause import Cause
from exporter.foreign.terminal import escape
from exporter.platform import errors
from exporter.platform.errors import MESSAGE_LIMIT, PlatformError
from exporter.polling.timetable import SHARE
from exporter.targets.target import DATABASE_PREFIX
from exporter.validation.faults import Fault

OK, NOT_TRIED = "ok", "not tried"
# The words of `explain`.
HAS_NONE, FAILED = Cause.PLATFORM_HAS_NONE.words, Cause.FAILING.words
# Up to this many good targets of a collector are listed, or targets with the same failure; more are summarised.
MOST_WELL = 5
MOST_ALIKE = 10
_ORDER = (OK, HAS_NONE, FAILED)
_WORDS = {"dns": "DNS", "waf": "WAF"}
# The kinds of errors that concern a whole account, and what is said of them; the first that fits is used.
_BARRIERS: tuple[tuple[type[PlatformError], str], ...] = (
    (errors.Unauthorized, "the {credential} is not accepted: {barrier}"),
    (errors.Forbidden, "the {credential} is not permitted to make any of the polls: {barrier}"),
    (errors.CredentialError, "{barrier}"),
    (errors.TransportError, "the {place} cannot be reached: {barrier}"),
    (errors.NotFound, "every poll fails: {barrier}; check the path of {setting}"),
    (PlatformError, "every poll fails: {barrier}"),
)

COLUMNS = ("ACCOUNT", "COLLECTOR", "TARGET", "NAME", "RESULT", "DETAIL")


class Row(NamedTuple):
    """A row of the table."""

    account: str
    collector: str
    target: str
    name: str
    result: str
    detail: str

    def cells(self) -> tuple[str, ...]:
        """The row's cells in the order of `COLUMNS`, each on one line and of a length that can be read."""
        return tuple(escape(cell if len(cell) <= MESSAGE_LIMIT else cell[: MESSAGE_LIMIT - 1] + "…") for cell in self)


def rows(verdicts: Iterable[AccountResult]) -> list[Row]:
    """Return the table, by account and collector, with good results before faults."""
    return [row for verdict in verdicts for row in _of_account(verdict)]


def faults(verdicts: Iterable[AccountResult]) -> int:
    """Return the number of failing targets; an account that cannot be polled at all counts as one."""
    return sum(
        1 if verdict.barrier is not None else sum(_result(one) == FAILED for one in _telling(verdict.tried))
        for verdict in verdicts
    )


def polls(verdicts: Iterable[AccountResult]) -> int:
    """Return the number of polls that were tried."""
    return sum(len(verdict.tried) for verdict in verdicts)


def _of_account(verdict: AccountResult) -> Iterator[Row]:
    if verdict.barrier is not None:
        yield _barrier_row(verdict, verdict.barrier)
        return
    # The results of discovery come first.
    names = [collector.name for collector in sorted(CATALOGUE, key=lambda collector: not collector.discovers)]

    def place(one: TargetResult) -> tuple[int, str, str, int, str]:
        number = int(one.target.id) if one.target.id.isdecimal() else -1
        order = names.index(one.collector) if one.collector in names else len(names)
        return order, one.collector, one.target.kind, number, one.target.id

    for collector, group in groupby(sorted(_telling(verdict.tried), key=place), key=lambda one: one.collector):
        yield from _of_collector(verdict.name, collector, list(group))
        if left := verdict.untried.get(collector, 0):
            yield Row(verdict.name, collector, counted(left, "target"), "", NOT_TRIED, "skipped: they would fail, too")
    if not verdict.tried:
        words = "nothing is polled: no target is configured, and none discovered"
        yield Row(verdict.name, "", "", "", NOT_TRIED, words)


def _telling(tried: Sequence[TargetResult]) -> list[TargetResult]:
    """Return the results without those of other collectors on targets that do not exist."""
    owners = {collector.name for collector in CATALOGUE if collector.owns_target}
    gone = {one.target for one in tried if one.collector in owners and isinstance(one.error, errors.NotFound)}
    return [one for one in tried if one.target not in gone or one.collector in owners]


def _of_collector(account: str, collector: str, tried: list[TargetResult]) -> Iterator[Row]:
    by_result: dict[tuple[str, str], list[TargetResult]] = {}
    for one in tried:
        result = _result(one)
        key = (result, "" if one.error is None else str(one.error))
        by_result.setdefault(key, []).append(one)
    for (result, _), alike in sorted(by_result.items(), key=lambda item: _ORDER.index(item[0][0])):
        most, kept = (MOST_ALIKE, MOST_WELL) if result == FAILED else (MOST_WELL, 0)
        shown = alike if len(alike) <= most else alike[:kept]
        for one in shown:
            yield Row(account, collector, one.target.key.label, one.target.name, result, _detail(one))
        if left := alike[len(shown) :]:
            more = " more" if shown else ""
            yield Row(account, collector, f"{counted(len(left), 'target')}{more}", "", result, _summary(left))


def _result(one: TargetResult) -> str:
    error = one.error
    if error is None:
        return HAS_NONE if one.is_never_scanned else OK
    return HAS_NONE if isinstance(error, errors.NotAvailable) else FAILED


def _detail(one: TargetResult) -> str:
    error = one.error
    if isinstance(error, errors.NotFound) and one.target.kind == "account":
        return f"the account does not have this resource: {error}"
    if isinstance(error, errors.NotFound):
        return f"there is no such {_kind(one.target.kind)}: {error}"
    if error is not None:
        # The key is accepted for other calls, or the account as a whole would be reported.
        is_forbidden = isinstance(error, errors.Unauthorized | errors.Forbidden)
        return f"the key or token may not read this: {error}" if is_forbidden else str(error)
    if one.is_never_scanned:
        return "never scanned"
    return _found(one.found) if one.found else f"{one.series} series"


def _summary(alike: list[TargetResult]) -> str:
    if alike[0].error is not None:
        return "the same" if _result(alike[0]) == FAILED else _detail(alike[0])
    return _detail(alike[0]) if alike[0].is_never_scanned else f"{sum(one.series for one in alike)} series"


def _kind(kind: str) -> str:
    return " ".join(_WORDS.get(word, word) for word in kind.split("_"))


def _found(found: Mapping[str, int]) -> str:
    words = (counted(number, _kind(kind)) for kind, number in found.items() if kind != "cdn")
    return "found " + ", ".join(words)


def _barrier_row(verdict: AccountResult, barrier: PlatformError) -> Row:
    is_database = verdict.name.startswith(DATABASE_PREFIX)
    place, credential, setting = ("database", "token", "url") if is_database else ("platform", "key", "base_url")
    words = next(words for kind, words in _BARRIERS if isinstance(barrier, kind))
    words = words.format(barrier=barrier, place=place, credential=credential, setting=setting)
    untried = sum(verdict.untried.values())
    rest = f"; {counted(untried, 'more poll was', 'more polls were')} not tried" if untried else ""
    target = verdict.name.replace(":", "/", 1) if is_database else f"account/{verdict.name}"
    return Row(verdict.name, "", target, "", FAILED, words + rest)


def loads(verdicts: Iterable[AccountResult]) -> Iterator[str]:
    """Return a line for each account: the requests that its targets need, and its budget."""
    for verdict in verdicts:
        if verdict.barrier is None:
            yield f"{verdict.name}: {_load(verdict)}"


def _load(verdict: AccountResult) -> str:
    needs, stretch = verdict.capacity, verdict.capacity.stretch(verdict.demand)
    by_time = needs.max_in_flight / needs.seconds if needs.seconds else needs.rate
    asks = f"the targets need {_number(verdict.demand)} requests/s, the budget allows {_number(needs.rate)}"
    if stretch <= 1:
        return asks
    longer = f"intervals would be {stretch:.1f} times as long as configured"
    if by_time < needs.rate:
        return (
            f"{asks}, but with {needs.max_in_flight} in flight and answers that take {needs.seconds:.1f} s no more "
            f"than {_number(by_time)} are made ({longer}): raise max_in_flight or lengthen intervals"
        )
    enough = math.ceil(verdict.demand / SHARE * 10) / 10
    return f"{asks} ({longer}): raise requests_per_second to {_number(enough)} or lengthen intervals"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value >= 1 else f"{value:.2g}"


def as_json(wrong: Iterable[Fault], verdicts: Iterable[AccountResult] = (), warnings: Iterable[str] = ()) -> str:
    """Return `ok`, the faults of the configuration, the accounts with their results, and the warnings."""
    configuration, tried = [asdict(fault) for fault in wrong], list(verdicts)
    found = {
        "ok": not configuration and faults(tried) == 0,
        "configuration": configuration,
        "polls": polls(tried),
        "faults": faults(tried),
        "accounts": [
            {
                "name": verdict.name,
                "requests_per_second": verdict.demand,
                "budget_requests_per_second": verdict.capacity.rate,
                "interval_stretch": verdict.capacity.stretch(verdict.demand),
            }
            for verdict in tried
        ],
        "results": [row._asdict() for row in rows(tried)] if any(verdict.tried for verdict in tried) else [],
        "warnings": list(warnings),
    }
    return escape(json.dumps(found, indent=2, ensure_ascii=False), keep="\n")
