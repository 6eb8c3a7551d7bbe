"""Reads the state of the running parts as JSON, from which the status page and `/api/v1/` are made.

Fields are added and never removed. Times are unix seconds, durations are seconds, rates are requests a second, targets
are counted once for each collector, and an unknown value is null.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from exporter.clock import Clocks
from exporter.explain.explainer import Explainer
from exporter.exposition.store import Store
from exporter.metric import label_value
from exporter.polling.schedule import Schedule
from exporter.targets.registry import Registry
from exporter.targets.target import Target, TargetKey
from exporter.web.target_query import UNWELL, FilterValues, Pair, State, TargetQuery, state_of

SLOWEST_TICK = 30.0
MOST_FAILURES = 50
MOST_REFUSALS = 3

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The durable counters.

    Attributes:
        durable: whether they are kept in a file or a database; otherwise they start at 0 with the process.
        saves: whether the last write succeeded.
        fault: why it failed; empty if it succeeded.
        set_aside: unix seconds at which damaged state was last found in this run; None if that never happened.
    """

    durable: bool
    saves: bool
    fault: str
    set_aside: float | None


class Census:
    """Counts targets by account, collector and state, and groups the failing ones.

    Attributes:
        failures: account, collector and reason → the number of targets that fail so, and the one that was polled last.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._counts: Counter[tuple[str, str, State]] = Counter()
        self.failures: dict[tuple[str, str, str], tuple[int, Pair]] = {}
        for key, status in pairs:
            state, account = state_of(status), status.target.client_name
            self._counts[account, key.collector, state] += 1
            if state in UNWELL:
                alike = account, key.collector, status.reason or state
                times, newest = self.failures.get(alike, (0, (key, status)))
                self.failures[alike] = times + 1, max(newest, (key, status), key=lambda pair: pair[1].polled)

    def count(self, *states: State, account: str | None = None, collector: str | None = None) -> int:
        """Return the number of targets in these states (in all, if none is given), of an account or a collector."""
        return sum(
            number
            for (own_account, own_collector, state), number in self._counts.items()
            if (not states or state in states) and account in (None, own_account) and collector in (None, own_collector)
        )


@dataclass(slots=True)
class View:
    """Reads the state of the running parts; no method causes a platform call.

    Attributes:
        account_up: account → whether it answers; without databases.
        is_authenticated: whether an authenticated answer has ever come.
        ledger_alive: whether polls are still counted and published.
        renderer_alive: whether generations of the exposition are still made.
        config: when the configuration in force was loaded, and the faults of a later one that was refused.
        unmatched_budgets: account and configured name of the monthly budgets that belong to no script.
        spare: returns why this exporter polls nothing, such as "spare: 4 of 4 shards are held"; empty if it polls.
        withholds: returns why no counter is served yet; empty if any is, or none is due.
        unproven: returns what a spare waits for before it is ready; empty if it could take a shard.
        ledger: the state of the durable counters; None if unknown.
        clock_offset: an account → the seconds by which its platform's clock is ahead; None if unknown.
    """

    store: Store
    registry: Registry
    schedule: Callable[[], Schedule]
    account_up: Callable[[], Mapping[str, bool]]
    is_authenticated: Callable[[], bool]
    ledger_alive: Callable[[], bool]
    renderer_alive: Callable[[], bool]
    series: Callable[[], int]
    config: Callable[[], tuple[float, tuple[str, ...]]]
    unmatched_budgets: Callable[[], tuple[tuple[str, str], ...]]
    clocks: Clocks
    version: str
    started: float
    explainer: Explainer
    spare: Callable[[], str] = str
    unproven: Callable[[], str] = str
    withholds: Callable[[], str] = str
    ledger: Callable[[], LedgerView | None] = lambda: None
    clock_offset: Callable[[str], float | None] = lambda _account: None
    _was_ready: bool = False

    def ailment(self) -> str:
        """Return which part has stalled; empty if none. The event loop runs, or there would be no answer."""
        if self.clocks.monotonic() - self.schedule().last_tick >= SLOWEST_TICK:
            return "the scheduler has stalled"
        if not self.ledger_alive():
            return "the ledger has stalled"
        return "" if self.renderer_alive() else "the exposition has stalled"

    def waits_for(self) -> str:
        """Return what readiness waits for; empty for good once it waits for nothing.

        Discovery must have ended, a call been authenticated, and the first counts been saved, without which no counter
        is served.
        A spare polls nothing: it is ready as soon as it could take a shard.
        """
        if self._was_ready:
            return ""
        if self.registry.shard.index is None and (unproven := self.unproven()):
            return self._refusal() or unproven
        silent = [name for name, is_up in self.account_up().items() if not is_up]
        if not self.schedule().all_discovered(silent):
            return self._refusal() or "discovery has not ended"
        if not self.is_authenticated():
            return self._refusal() or "no authenticated answer has come"
        if reason := self.withholds():
            return f"no counter is served: {reason}"
        self._was_ready = True
        return ""

    def _refusal(self) -> str:
        """Return the credentials that are refused, or could not be read or sent, in words; empty if none."""
        accounts, known = self.schedule().accounts, self.account_up()
        refused = [
            name for name in (known or accounts) if name in accounts and accounts[name].client.credential.is_refused()
        ]
        words = []
        for name in refused[:MOST_REFUSALS]:
            reasons = (status.reason for _, status in self.store.statuses() if status.target.client_name == name)
            reason = next((reason for reason in reasons if reason in ("unauthorized", "credential")), "unauthorized")
            why = "is not accepted" if reason == "unauthorized" else "cannot be used"
            words.append(f"the {credential_of(label_value(name))} {why}")
        if len(refused) > MOST_REFUSALS:
            words.append(f"{len(refused) - MOST_REFUSALS} more are refused")
        return ", ".join(words)

    def known(self) -> FilterValues:
        """Return the collectors and accounts that a query may name."""
        schedule = self.schedule()
        return FilterValues(tuple(schedule.plans), tuple(schedule.accounts))

    def is_target(self, key: str) -> bool:
        """Return whether a target of this key is polled."""
        return bool(self.registry.find(key)) or any(known.target.label == key for known, _ in self.store.statuses())

    def targets(self, query: TargetQuery, pairs: Sequence[Pair] = ()) -> tuple[Json, Census]:
        """Return the targets that a query finds, of these or of all, and their counts in every state."""
        pairs = pairs or list(self.store.statuses())
        admitted = [pair for pair in pairs if query.admits(pair)]
        found = [pair for pair in admitted if not query.state or state_of(pair[1]) in query.state]
        page = query.arrange(found)[query.offset : query.offset + query.limit]
        answer = {
            "total": len(pairs),
            "matched": len(found),
            "offset": query.offset,
            "limit": query.limit,
            "targets": [self._target(pair) for pair in page],
        }
        return answer, Census(admitted)

    def _target(self, pair: Pair) -> Json:
        """Return a target as one collector sees it; `reason` is one word for its failure."""
        key, status = pair
        state = state_of(status)
        return {
            "account": label_value(status.target.client_name),
            "collector": key.collector,
            "target": label_value(key.target.label),
            "name": label_value(status.target.name),
            "zone": self._zone_of(status.target),
            "state": state,
            "reason": status.reason,
            "message": label_value(status.message),
            "last_success": status.success or None,
            "last_poll": status.polled or None,
            "age": self.clocks.wall() - status.success if status.success else None,
            "duration": status.duration if status.polled else None,
            # The chart of a stale target is not drawn.
            "chart": [] if state is State.STALE else list(status.chart),
        }

    def _zone_of(self, target: Target) -> str:
        """Return the name of the shield zone to which a target belongs, or its label; empty if it belongs to none."""
        zone_id = target.attributes.get("shield_zone_id", "")
        key = TargetKey.of(target.account, "shield_zone", zone_id)
        return label_value(self.registry.name_of(key) or key.label) if zone_id else ""

    def status(self, pairs: Sequence[Pair] = ()) -> Json:
        """Return the state of the whole exporter; `pairs` are all targets, if they are known already."""
        census, schedule = Census(pairs or self.store.statuses()), self.schedule()
        failures = self._failures(census)
        (loaded, faults), ledger = self.config(), self.ledger()
        waits_for, ailment = self.waits_for(), self.ailment()
        return {
            "version": self.version,
            "started": self.started,
            "now": self.clocks.wall(),
            "ready": not waits_for,
            "waits_for": waits_for,
            "spare": self.spare(),
            "healthy": not ailment,
            "ailment": ailment,
            "shard": self.registry.shard.index,
            "shards": self.registry.shard.total,
            "series": self.series(),
            "config_loaded": loaded,
            "config_faults": faults,
            "unmatched_budgets": self.unmatched_budgets(),
            "ledger": None if ledger is None else asdict(ledger),
            "targets": {state: census.count(state) for state in State},
            "accounts": [self._account(name, schedule, census, failures) for name in schedule.accounts],
            "collectors": [self._collector(name, schedule, census) for name in schedule.plans],
            "failures": failures,
        }

    def _failures(self, census: Census) -> list[Json]:
        """Return the groups of failing targets, the newest first, each with the target that was polled last."""
        newest_first = sorted(census.failures.items(), key=lambda item: -item[1][1][1].polled)
        failures = []
        for (_, _, reason), (number, pair) in newest_first[:MOST_FAILURES]:
            one = self._target(pair)
            shown = {name: one[name] for name in ("target", "name", "zone", "message")}
            of = {"account": one["account"], "collector": one["collector"], "reason": reason, "targets": number}
            failures.append({**of, **shown, "last_poll": pair[1].polled})
        return failures

    def _account(self, name: str, schedule: Schedule, census: Census, failures: Sequence[Json]) -> Json:
        """Return an account or a database; of its `limits` by the keys of the configuration, the lowest applies."""
        account, budget = schedule.accounts[name], schedule.accounts[name].client.rate_limiter
        failing = census.count(*UNWELL, account=name)
        # A database's last answer is not kept; it is up if one of its targets is up.
        is_up = self.account_up().get(name, not failing or census.count(State.OK, account=name) > 0)
        reason = "" if is_up else next((one["reason"] for one in failures if one["account"] == name), "")
        return {
            "account": name,
            "up": is_up,
            "reason": reason,
            "budget": budget.effective_rate,
            "demand": account.pace.demand,
            "limits": account.pace.limits(),
            "paused": budget.pause(),
            "max_in_flight": budget.max_in_flight,
            "targets": census.count(account=name),
            "failing": failing,
            "clock_offset": self.clock_offset(name),
        }

    def _collector(self, name: str, schedule: Schedule, census: Census) -> Json:
        """Return a collector; `next_run` is the time until its next target is due."""
        return {
            "collector": name,
            "interval": schedule.plans[name].interval,
            "effective_interval": schedule.slowest(name),
            "targets": census.count(collector=name),
            "failing": census.count(*UNWELL, collector=name),
            "next_run": max(0.0, schedule.next_due(name) - self.clocks.monotonic()),
            "last_duration": schedule.durations.get(name),
        }


def credential_of(account: str) -> str:
    """Name the credential of an account or a database, on one line."""
    kind, _, name = " ".join(account.split()).partition(":")
    return f"token of database {name}" if kind == "database" and name else f"key of account {' '.join(account.split())}"
