"""Reads the state of the running parts for the status page and the API."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.clock import Clocks
from exporter.explain.explainer import Explainer
from exporter.exposition.store import Store
from exporter.metric import label_value
from exporter.polling.scheduler import Schedule
from exporter.targets.registry import Registry
from exporter.targets.target import Target, TargetKey
from exporter.web import status_models as views
from exporter.web.status_models import UNWELL, State, credential_of
from exporter.web.target_query import FilterValues, Pair, TargetQuery, state_of

SLOWEST_TICK = 30.0
MOST_FAILURES = 50
MOST_REFUSALS = 3


class Census:
    """Counts targets by account, collector and state, and groups the failing ones.

    Attributes:
        failures: account, collector and reason → the number of targets that fail so, and the one that was polled last.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, State]] = Counter()
        self.failures: dict[tuple[str, str, str], tuple[int, Pair]] = {}

    def take_in(self, pair: Pair) -> None:
        """Count a target."""
        key, status = pair
        state, account = state_of(status), status.target.client_name
        self._counts[account, key.collector, state] += 1
        if state in UNWELL:
            alike = (account, key.collector, status.reason or state)
            times, newest = self.failures.get(alike, (0, pair))
            self.failures[alike] = (times + 1, max(newest, pair, key=lambda known: known[1].polled))

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
    ledger: Callable[[], views.LedgerView | None] = lambda: None
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

    def targets(self, query: TargetQuery, pairs: Sequence[Pair] = ()) -> tuple[views.TargetsView, Census]:
        """Return the targets that a query finds, of these or of all, and their counts in every state."""
        pairs = pairs or list(self.store.statuses())
        found: list[Pair] = []
        census = Census()
        for pair in pairs:
            if query.admits(pair):
                census.take_in(pair)
                if not query.states or state_of(pair[1]) in query.states:
                    found.append(pair)
        now = self.clocks.wall()
        page = query.arrange(found)[query.offset : query.offset + query.limit]
        rows = [self._target(pair, now) for pair in page]
        return views.TargetsView(len(pairs), len(found), query.offset, query.limit, tuple(rows)), census

    def _target(self, pair: Pair, now: float) -> views.TargetView:
        key, status = pair
        state = state_of(status)
        return views.TargetView(
            account=label_value(status.target.client_name),
            collector=key.collector,
            target=label_value(key.target.label),
            name=label_value(status.target.name),
            zone=self._zone_of(status.target),
            state=state,
            reason=status.reason,
            message=label_value(status.message),
            last_success=status.success or None,
            last_poll=status.polled or None,
            age=now - status.success if status.success else None,
            duration=status.duration if status.polled else None,
            # The chart of a stale target is not drawn.
            chart=() if state is State.STALE else status.chart,
        )

    def _zone_of(self, target: Target) -> str:
        """Return the name of the shield zone to which a target belongs, or its label; empty if it belongs to none."""
        zone_id = target.attributes.get("shield_zone_id", "")
        key = TargetKey.of(target.account, "shield_zone", zone_id)
        return label_value(self.registry.name_of(key) or key.label) if zone_id else ""

    def status(self, pairs: Sequence[Pair] = ()) -> views.StatusView:
        """Return the state of the whole exporter; `pairs` are all targets, if they are known already."""
        census = Census()
        for pair in pairs or list(self.store.statuses()):
            census.take_in(pair)
        schedule = self.schedule()
        failures = tuple(self._failures(census))
        loaded, faults = self.config()
        waits_for, ailment = self.waits_for(), self.ailment()
        return views.StatusView(
            version=self.version,
            started=self.started,
            now=self.clocks.wall(),
            ready=not waits_for,
            waits_for=waits_for,
            spare=self.spare(),
            healthy=not ailment,
            ailment=ailment,
            shard=self.registry.shard.index,
            shards=self.registry.shard.total,
            series=self.series(),
            config_loaded=loaded,
            config_faults=faults,
            unmatched_budgets=self.unmatched_budgets(),
            ledger=self.ledger(),
            targets={state: census.count(state) for state in State},
            accounts=tuple(self._accounts(schedule, census, failures)),
            collectors=tuple(self._collectors(schedule, census)),
            failures=failures,
        )

    def _failures(self, census: Census) -> Iterator[views.FailureView]:
        """Yield the groups of failing targets, the newest first."""
        newest_first = sorted(census.failures.items(), key=lambda item: -item[1][1][1].polled)
        for (_, _, reason), (number, pair) in newest_first[:MOST_FAILURES]:
            of = self._target(pair, 0.0)
            yield views.FailureView(
                of.account, of.collector, reason, number, of.target, of.name, of.zone, of.message, pair[1].polled
            )

    def _accounts(
        self, schedule: Schedule, census: Census, failures: Sequence[views.FailureView]
    ) -> Iterator[views.AccountView]:
        known = self.account_up()
        for name, account in schedule.accounts.items():
            budget = account.client.rate_limiter
            failing = census.count(*UNWELL, account=name)
            # A database's last answer is not kept; it is up if one of its targets is up.
            is_up = known.get(name, not failing or census.count(State.OK, account=name) > 0)
            yield views.AccountView(
                account=name,
                up=is_up,
                reason="" if is_up else next((found.reason for found in failures if found.account == name), ""),
                budget=budget.effective_rate,
                demand=schedule.intervals.demand.get(name, 0.0),
                limits=account.capacity.limits(),
                paused=budget.pause(),
                max_in_flight=budget.max_in_flight,
                targets=census.count(account=name),
                failing=failing,
                clock_offset=self.clock_offset(name),
            )

    def _collectors(self, schedule: Schedule, census: Census) -> Iterator[views.CollectorView]:
        now = self.clocks.monotonic()
        for name, plan in schedule.plans.items():
            yield views.CollectorView(
                collector=name,
                interval=plan.interval,
                effective_interval=schedule.intervals.slowest(name),
                targets=census.count(collector=name),
                failing=census.count(*UNWELL, collector=name),
                next_run=max(0.0, schedule.next_due(name) - now),
                last_duration=schedule.durations.get(name),
            )
