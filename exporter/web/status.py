"""Reads the state of the running parts as JSON, from which the status page and `/api/v1/` are made.

Fields are added and never removed. Times are unix seconds, durations are seconds, rates are requests a second, targets
are counted once for each collector, and an unknown value is null.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

from exporter import __version__
from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.counters.ledger import Ledger
from exporter.explain.explainer import Explainer
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import Status, Store
from exporter.metric import label_value
from exporter.polling.schedule import Schedule
from exporter.targets.registry import Registry
from exporter.targets.target import PollKey, Target, TargetKey
from exporter.web.parts import Process
from exporter.web.readiness import Readiness
from exporter.web.target_query import UNWELL, FilterValues, Pair, State, TargetQuery, state_of

MOST_FAILURES = 50
MOST_MOVES = 50

Json = dict[str, Any]


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
    """Reads the state of the running parts; no method causes a platform call."""

    process: Callable[[], Process]
    store: Store
    registry: Registry
    schedule: Schedule
    ledger: Ledger
    renderer: Renderer
    explainer: Explainer
    clocks: Clocks
    version: str = __version__
    readiness: Readiness = field(init=False)

    def __post_init__(self) -> None:
        self.readiness = Readiness(
            self.process, self.store, self.registry, self.schedule, self.ledger, self.renderer, self.clocks
        )

    def known(self) -> FilterValues:
        """Return the collectors and accounts that a query may name."""
        schedule = self.schedule
        return FilterValues(tuple(schedule.plans), tuple(schedule.accounts))

    def not_polled(self, labels: Collection[str]) -> list[str]:
        """Return the labels, such as `dns_zone/102`, of which no target is polled, in order."""
        if not labels:
            return []
        known = {key.target.label for key, _ in chain(self.store.statuses(), self._pending())}
        return sorted(set(labels) - known)

    def _pending(self) -> Iterator[tuple[PollKey, Target]]:
        """Yield what was not polled yet since the start."""
        store = self.store
        for name, plan in self.schedule.plans.items():
            for target in self.registry.targets(plan.collector.polls):
                key = PollKey(target.key, name)
                # Where discovery is off, it may look up names, which has no status.
                if store.find(key) is None and plan.collector.wants(discovery.without_names(target)):
                    yield key, target

    def pairs(self) -> list[Pair]:
        """Return every target, once for each collector; one that was not polled yet has a status without a poll."""
        store = self.store
        polled = list(store.statuses())
        pending = [
            (key, Status(target, key.collector, success=store.remembered(key.collector, target)))
            for key, target in self._pending()
        ]
        return sorted([*polled, *pending], key=itemgetter(0)) if pending else polled

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Return the number of targets that are up, failing and pending, of each account and database."""
        names = {State.OK: "up", State.FAILING: "failing", State.STALE: "failing", State.PENDING: "pending"}
        counts = Counter((status.target.client_name, names[state_of(status)]) for _, status in self.store.statuses())
        counts.update((target.client_name, "pending") for _, target in self._pending())
        return {(account, name): counts[account, name] for account in self.schedule.accounts for name in names.values()}

    def targets(self, query: TargetQuery, pairs: Sequence[Pair] = ()) -> tuple[Json, Census]:
        """Return the targets that a query finds, of these or of all, and their counts in every state."""
        pairs = pairs or self.pairs()
        admitted = [pair for pair in pairs if query.admits(pair)]
        found = [pair for pair in admitted if not query.state or state_of(pair[1]) in query.state]
        page = query.arrange(found)[query.offset : query.offset + query.limit]
        answer = {
            "total": len(pairs),
            "matched": len(found),
            "offset": query.offset,
            "limit": query.limit,
            "targets": [self.target(pair) for pair in page],
        }
        return answer, Census(admitted)

    def target(self, pair: Pair) -> Json:
        """Return a target as one collector sees it; `reason` is one word for its failure."""
        key, status = pair
        state, due = state_of(status), self.schedule.due_at(key)
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
            "next_poll": None if due is None else self.clocks.wall() + max(0.0, due - self.clocks.monotonic()),
            "failing_since": status.since or None,
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
        census, process = Census(pairs or self.pairs()), self.process()
        failures = self._failures(census)
        waits_for, ailment = self.readiness.waits_for(), self.readiness.ailment()
        return {
            "version": self.version,
            "started": process.started,
            "now": self.clocks.wall(),
            "ready": not waits_for,
            "waits_for": waits_for,
            "spare": process.spare,
            "healthy": not ailment,
            "ailment": ailment,
            "shard": self.registry.shard.index,
            "shards": self.registry.shard.total,
            "series": self.renderer.current.series,
            "config_loaded": process.config_loaded,
            "config_faults": process.config_faults,
            "unmatched_budgets": process.unmatched_budgets,
            "ledger": {
                "durable": process.is_durable,
                "saves": not self.ledger.fault,
                "fault": self.ledger.fault,
                "set_aside": process.set_aside,
            },
            "targets": {state: census.count(state) for state in State},
            "accounts": [self._account(name, process.account_up, census, failures) for name in self.schedule.accounts],
            "collectors": [self._collector(name, census) for name in self.schedule.plans],
            "failures": failures,
            "moves": [
                {
                    "account": label_value(move.key.account),
                    "target": label_value(move.key.label),
                    "name": label_value(move.name),
                    "gone": move.is_gone,
                    "at": move.at,
                }
                for move in self.registry.moves()[:MOST_MOVES]
            ],
        }

    def _failures(self, census: Census) -> list[Json]:
        """Return the groups of failing targets, the newest first, each with the target that was polled last."""
        newest_first = sorted(census.failures.items(), key=lambda item: -item[1][1][1].polled)
        failures = []
        for (_, _, reason), (number, pair) in newest_first[:MOST_FAILURES]:
            one = self.target(pair)
            shown = {name: one[name] for name in ("target", "name", "zone", "message")}
            of = {"account": one["account"], "collector": one["collector"], "reason": reason, "targets": number}
            failures.append({**of, **shown, "last_poll": pair[1].polled})
        return failures

    def _account(self, name: str, up: Mapping[str, bool], census: Census, failures: Sequence[Json]) -> Json:
        """Return an account or a database; of its `limits` by the keys of the configuration, the lowest applies."""
        account = self.schedule.accounts[name]
        budget = account.client.rate_limiter
        failing = census.count(*UNWELL, account=name)
        # A database's last answer is not kept; it is up if one of its targets is up.
        is_up = up.get(name, not failing or census.count(State.OK, account=name) > 0)
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
            "clock_offset": self.ledger.platform_time(name).offset,
        }

    def _collector(self, name: str, census: Census) -> Json:
        """Return a collector; `next_run` is the time until its next target is due."""
        return {
            "collector": name,
            "interval": self.schedule.plans[name].interval,
            "effective_interval": self.schedule.slowest(name),
            "targets": census.count(collector=name),
            "failing": census.count(*UNWELL, collector=name),
            "next_run": max(0.0, self.schedule.next_due(name) - self.clocks.monotonic()),
            "last_duration": self.schedule.durations.get(name),
        }
