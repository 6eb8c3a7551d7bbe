"""The state of the whole exporter as JSON, from which `/api/v1/status`, the status page and the probes are answered.

Times are unix seconds, durations are seconds, rates are requests a second, targets are counted once for each collector,
and an unknown value is null.
"""

from collections import defaultdict

from exporter.exposition.store import Status
from exporter.web.health import health
from exporter.web.parts import Parts, Process
from exporter.web.targets import FAILING, STATES, UP, Census, all_targets, state_of, take_census, target_values
from exporter.web.url_fields import Json

MOST_FAILURES = 50
MOST_MOVES = 50


def status_of(parts: Parts) -> Json:
    """Return the state of the whole exporter."""
    process, census, shard = parts.process(), take_census(parts), parts.registry.shard
    failures = _failures(parts)
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
        "targets": {state: sum(census.accounts[name, state] for name in parts.schedule.accounts) for state in STATES},
        "accounts": [_account(parts, process, name, census, failures) for name in parts.schedule.accounts],
        "collectors": [_collector(parts, name, census) for name in parts.schedule.plans],
        "failures": failures[:MOST_FAILURES],
        "moves": [
            {
                "account": move.key.account,
                "target": move.key.label,
                "name": move.name,
                "gone": move.is_gone,
                "at": move.at,
            }
            for move in parts.registry.moves()[:MOST_MOVES]
        ],
    }


def _failures(parts: Parts) -> list[Json]:
    """Return the failures by account and reason, the newest first, each with the target that was polled last."""
    alike: defaultdict[tuple[str, str], list[Status]] = defaultdict(list)
    for status in all_targets(parts):
        if state_of(status) == FAILING:
            alike[status.target.client_name, status.reason].append(status)
    failures = []
    for (account, reason), statuses in alike.items():
        one = target_values(parts, max(statuses, key=lambda status: status.polled))
        failures.append(
            {
                "account": account,
                # A target whose polls are far too late has no reason.
                "reason": reason or "stale",
                "collectors": sorted({status.collector for status in statuses}),
                "targets": len(statuses),
                **{name: one[name] for name in ("target", "name", "message", "last_poll")},
            }
        )
    return sorted(failures, key=lambda failure: -failure["last_poll"])


def _account(parts: Parts, process: Process, name: str, census: Census, failures: list[Json]) -> Json:
    """Return an account or a database; `demand` and `budget` are requests a second."""
    account, numbers = parts.schedule.accounts[name], {state: census.accounts[name, state] for state in STATES}
    # A database's last answer is not kept; it is up if one of its targets is up.
    is_up = process.account_up.get(name, numbers[UP] > 0)
    return {
        "account": name,
        "up": is_up,
        "reason": "" if is_up else next((one["reason"] for one in failures if one["account"] == name), ""),
        "demand": account.pace.demand,
        "budget": account.pace.rate,
        "paused": account.client.rate_limiter.pause(),
        "targets": sum(numbers.values()),
        "failing": numbers[FAILING],
        "clock_offset": parts.ledger.platform_time(name).offset,
    }


def _collector(parts: Parts, name: str, census: Census) -> Json:
    """Return a collector; `next_run` is the time until its next target is due."""
    schedule, numbers = parts.schedule, {state: census.collectors[name, state] for state in STATES}
    return {
        "collector": name,
        "interval": schedule.plans[name].interval,
        "effective_interval": schedule.slowest(name),
        "targets": sum(numbers.values()),
        "failing": numbers[FAILING],
        "next_run": max(0.0, schedule.next_due(name) - parts.clocks.monotonic()),
        "last_duration": schedule.durations.get(name),
    }
