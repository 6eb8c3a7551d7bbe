"""The state of the whole exporter as JSON, from which `/api/v1/status`, the status page and the probes are answered.

Times are unix seconds, durations are seconds, rates are requests a second, targets are counted once for each collector,
and an unknown value is null.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from exporter.exposition.store import Status
from exporter.web.health import health
from exporter.web.parts import Parts, Process
from exporter.web.targets import FAILING, STATES, UP, all_targets, state_of
from exporter.web.url_fields import Json

MOST_FAILURES = 50
MOST_REMOVED = 50


def status_of(parts: Parts) -> Json:
    """Return the state of the whole exporter."""
    process, shard, statuses = parts.process(), parts.registry.shard, list(all_targets(parts))
    # Account or collector → how many of its targets are in each state.
    accounts, collectors = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    for one in statuses:
        accounts[one.target.client_name][state_of(one)] += 1
        collectors[one.collector][state_of(one)] += 1
    failures = _failures(statuses)
    return {
        "version": parts.version,
        "started": process.started,
        "now": parts.clocks.wall(),
        **health(parts),
        "shard": shard.index,
        "shards": shard.total,
        "series": parts.renderer.current.series,
        "config_loaded": process.config_loaded,
        "config_faults": process.config_faults,
        "ledger": {
            "durable": process.is_durable,
            "fault": parts.ledger.fault,
            "set_aside": process.set_aside,
        },
        "targets": {state: sum(states[state] for states in accounts.values()) for state in STATES},
        "accounts": [_account(parts, process, name, accounts[name], failures) for name in parts.schedule.accounts],
        "collectors": [_collector(parts, name, collectors[name]) for name in parts.schedule.plans],
        "failures": failures[:MOST_FAILURES],
        "removed": [
            {"account": one.key.account, "target": one.key.label, "name": one.name, "at": one.at}
            for one in parts.registry.removals()[:MOST_REMOVED]
        ],
    }


def _failures(statuses: Iterable[Status]) -> list[Json]:
    """Return the failures by account and reason, the newest first, each with the target that was polled last."""
    newest = sorted((one for one in statuses if state_of(one) == FAILING), key=lambda one: -one.polled)
    alike: defaultdict[tuple[str, str], list[Status]] = defaultdict(list)
    for one in newest:
        alike[one.target.client_name, one.reason].append(one)
    return [
        {
            "account": account,
            # A target whose polls are far too late has no reason.
            "reason": reason or "stale",
            "collectors": sorted({one.collector for one in failing}),
            "targets": len(failing),
            "target": failing[0].target.key.label,
            "name": failing[0].target.name,
            "message": failing[0].message,
            "last_poll": failing[0].polled,
        }
        for (account, reason), failing in alike.items()
    ]


def _account(parts: Parts, process: Process, name: str, states: Counter[str], failures: list[Json]) -> Json:
    """Return an account or a database; `demand` and `budget` are requests a second."""
    account = parts.schedule.accounts[name]
    # A database's last answer is not kept; it is up if one of its targets is up.
    is_up = process.account_up.get(name, states[UP] > 0)
    return {
        "account": name,
        "up": is_up,
        "reason": "" if is_up else next((one["reason"] for one in failures if one["account"] == name), ""),
        "demand": account.pace.demand,
        "budget": account.pace.rate,
        "paused": account.client.rate_limiter.pause(),
        "targets": states.total(),
        "failing": states[FAILING],
        "clock_offset": parts.ledger.platform_time(name).offset,
    }


def _collector(parts: Parts, name: str, states: Counter[str]) -> Json:
    """Return a collector; `next_run` is the time until its next target is due."""
    schedule = parts.schedule
    return {
        "collector": name,
        "interval": schedule.plans[name].interval,
        "effective_interval": schedule.slowest(name),
        "targets": states.total(),
        "failing": states[FAILING],
        "next_run": max(0.0, schedule.next_due(name) - parts.clocks.monotonic()),
        "last_duration": schedule.durations.get(name),
    }
