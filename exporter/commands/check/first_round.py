"""Polls the targets as a daemon does after its start, and returns the results."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from prometheus_client import CollectorRegistry

from exporter import __version__
from exporter.counters.storage import MemoryStorage
from exporter.daemon.machine import REAL
from exporter.daemon.work import Work
from exporter.explain.causes import Cause
from exporter.exposition.store import Status
from exporter.platform import errors
from exporter.platform.http.client import LONGEST_WAIT
from exporter.settings.model import Settings
from exporter.targets.sharding import Shard
from exporter.targets.target import DATABASE_PREFIX
from exporter.telemetry import Telemetry
from exporter.web.target_statuses import all_statuses

OK, HAS_NONE, FAILED = "ok", Cause.PLATFORM_HAS_NONE.words, Cause.FAILING.words
# How often to look whether all targets have been polled.
LOOKS_EVERY_SECONDS = 0.2
# The reasons of the failures that a wrong key or a wrong address causes.
_OF_THE_KEY = {errors.CredentialError.reason, errors.Unauthorized.reason, errors.Forbidden.reason}
_OF_THE_ADDRESS = {errors.TransportError.reason, *(kind.reason for kind in errors.TransportError.__subclasses__())}

# Receives two numbers: targets polled or paused for long, and all targets. A target counts once for each collector.
Progress = Callable[[int, int], None]


class Row(NamedTuple):
    """The result of a collector for one target; if `collector` is empty, of all polls of an account or a database."""

    account: str
    collector: str
    target: str
    name: str
    result: str
    families: int  # the number of families that the collector has of the target
    detail: str


class AccountResult(NamedTuple):
    """The results of an account or a database.

    Attributes:
        rows: the results, collector by collector; one row if all polls fail because of the credential or the address.
        targets: the number of targets.
        demand: the requests a second that the targets need at the configured intervals; None if unknown.
        budget: the requests a second that the budget allows.
        stretch: the factor by which intervals will be longer than configured, at least 1.
    """

    name: str
    rows: list[Row]
    targets: int
    demand: float | None
    budget: float
    stretch: float


async def first_round(settings: Settings, progressed: Progress) -> list[AccountResult]:
    """Poll the targets, except those with a long pause of calls; return the results of the accounts and databases."""
    # If a state database assigns the shards, this process has none: poll the targets of all shards.
    shard = settings.own_shard() or Shard()
    telemetry = Telemetry(CollectorRegistry(), __version__)
    work = Work(settings, shard, MemoryStorage(), telemetry, REAL, process=_serves_no_pages)
    await work.start()
    try:
        waiting = list(all_statuses(work.parts))
        while waiting:
            await asyncio.sleep(LOOKS_EVERY_SECONDS)
            known = list(all_statuses(work.parts))
            # Do not wait for the end of a long pause, which may last for minutes.
            waiting = [one for one in known if not one.polled and not _is_paused(work, one)]
            progressed(len(known) - len(waiting), len(known))
            if not work.schedule.running and not _is_discovering(work):
                # No poll runs: poll the remaining targets now, without a name if the discovery has failed.
                work.schedule.poll_again([one.key for one in waiting])
        # Compute the demand from the number of calls that the polls made.
        work.schedule.refresh()
        return [_result(work, name) for name in work.schedule.accounts]
    finally:
        await work.stop()


def _serves_no_pages() -> NoReturn:
    raise AssertionError("a check serves no pages")


def _is_discovering(work: Work) -> bool:
    schedule = work.schedule
    return not schedule.all_discovered() or any(one.plan.collector.discovers for one in schedule.running.values())


def _is_paused(work: Work, status: Status) -> bool:
    operations = work.schedule.plans[status.collector].collector.operations
    limiter = work.schedule.accounts[status.target.client_name].client.rate_limiter
    return limiter.paused_for(*(one.name for one in operations)) > LONGEST_WAIT


def _result(work: Work, name: str) -> AccountResult:
    plans, pace = work.schedule.plans, work.schedule.accounts[name].pace
    statuses = [one for one in all_statuses(work.parts) if one.target.client_name == name]
    target_count = len({one.target.key for one in statuses})
    order = sorted(plans, key=lambda collector: not plans[collector].collector.discovers)
    statuses.sort(key=lambda one: (order.index(one.collector), one.key))
    if statuses and all(map(_concerns_the_account, statuses)):
        rows = [_account_row(name, statuses[0])]
        # Failed polls make fewer calls than successful ones, so the calculated demand would be too low.
        return AccountResult(name, rows, target_count, demand=None, budget=pace.rate, stretch=1.0)
    # A target that does not exist has only the row of the collector that owns the target (`Collector.owns_target`).
    gone = work.store.gone
    shown = [one for one in statuses if one.target.key not in gone or plans[one.collector].collector.owns_target]
    rows = [_row(status) for status in shown]
    return AccountResult(name, rows, target_count, demand=pace.demand, budget=pace.rate, stretch=pace.stretch)


def _row(status: Status) -> Row:
    target = status.target
    if not status.up:
        result = FAILED
    elif status.message:  # a message after a success says why there are no families
        result = HAS_NONE
    else:
        result = OK
    detail = status.message if status.polled else "not polled yet: the platform asked to wait"
    family_count = len(status.families)
    return Row(target.client_name, status.collector, target.key.label, target.name, result, family_count, detail)


def _concerns_the_account(status: Status) -> bool:
    # A 404 for the account itself shows a wrong address.
    is_wrong_address = status.reason == errors.NotFound.reason and status.target.kind == "account"
    return is_wrong_address or status.reason in _OF_THE_KEY | _OF_THE_ADDRESS


def _account_row(name: str, status: Status) -> Row:
    if name.startswith(DATABASE_PREFIX):
        credential, target = "token", f"database/{name.removeprefix(DATABASE_PREFIX)}"
    else:
        credential, target = "key", f"account/{name}"
    if status.reason == errors.NotFound.reason:
        detail = f"every poll fails: {status.message}; check the path of base_url"
    elif status.reason == errors.Unauthorized.reason:
        detail = f"the {credential} is not accepted: {status.message}"
    elif status.reason == errors.Forbidden.reason:
        detail = f"the {credential} lacks permission: {status.message}"
    elif status.reason == errors.CredentialError.reason:
        detail = status.message
    else:
        detail = f"every poll fails: {status.message}"
    return Row(name, "", target, "", FAILED, 0, detail)
