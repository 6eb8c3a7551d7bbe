"""The state of the whole exporter as JSON, for `/api/v1/status`, the status page and the probes.

Times are unix seconds, durations are seconds, and rates are requests a second. A target counts once for each of its
collectors.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from exporter.exposition.store import FAILING, UP, Status
from exporter.web.parts import Parts, Process
from exporter.web.target_statuses import all_statuses, count_states
from exporter.web.url_fields import Json

# A task has stalled if no round has ended for the longer of `STALLED_ROUNDS * Round.seconds` and `SHORTEST_STALL`.
STALLED_ROUNDS = 3
SHORTEST_STALL = 30.0


def status_of(parts: Parts) -> Json:
    """Return the state of the whole exporter, including the result of `health`."""
    process, shard = parts.process(), parts.registry.shard
    statuses = list(all_statuses(parts))
    by_account, by_collector = defaultdict[str, list[Status]](list), defaultdict[str, list[Status]](list)
    for one in statuses:
        by_account[one.target.client_name].append(one)
        by_collector[one.collector].append(one)
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
        "ledger": {"fault": parts.ledger.fault, "set_aside": process.set_aside},
        "targets": count_states(statuses),
        "accounts": [_account(parts, process, name, by_account[name], failures) for name in parts.schedule.accounts],
        "collectors": [_collector(parts, name, by_collector[name]) for name in parts.schedule.plans],
        "failures": failures,
        "removed": [
            {"account": one.key.account, "target": one.key.label, "name": one.name, "at": one.at}
            for one in parts.registry.removals()
        ],
    }


def health(parts: Parts) -> Json:
    """Return whether the exporter is healthy and ready, the reasons if not, and when repeated tasks last succeeded."""
    process = parts.process()
    ailment, waits_for = _ailment(parts, process), _waits_for(parts, process)
    return {
        "healthy": not ailment,
        "ailment": ailment,
        "ready": not waits_for,
        "waits_for": waits_for,
        "spare": process.spare,
        "rounds": {name: one.succeeded_at for name, one in process.rounds.items()},
    }


def _ailment(parts: Parts, process: Process) -> str:
    """Return in words which part has stalled, or the first of several; empty if no part has stalled."""
    # The event loop is not among the parts: if it had stalled, there would be no answer.
    now = parts.clocks.monotonic()
    working = {
        "the scheduler": now - parts.schedule.last_tick < SHORTEST_STALL,
        "the ledger": parts.ledger.is_alive(),
        "the exposition": parts.renderer.is_alive(),
    }
    for name, one in process.rounds.items():
        working[f"the task '{name}'"] = now - one.ended_at < max(STALLED_ROUNDS * one.seconds, SHORTEST_STALL)
    return next((f"{name} has stalled" for name, is_working in working.items() if not is_working), "")


def _waits_for(parts: Parts, process: Process) -> str:
    """Return what is missing for readiness; empty if nothing is missing, or if the process was ready before."""
    if process.was_ready.is_set():
        return ""
    missing = process.unproven if parts.schedule.all_discovered() else "discovery has not ended"
    if missing:
        return _credential_problems(parts, process) or missing
    reason = parts.ledger.why_no_counters()
    return f"no counter is served: {reason}" if reason else ""


def _credential_problems(parts: Parts, process: Process) -> str:
    """Return in words what is wrong with the credentials of the accounts or, if there are none, of the databases."""
    known = parts.schedule.accounts
    # `account_up` has no databases. If it is empty, all of `known` are databases.
    names = process.account_up or known
    problems = {name: known[name].client.credential.problem for name in names}
    return ", ".join(f"the credential of {name} {problem}" for name, problem in problems.items() if problem)


def _failures(statuses: Iterable[Status]) -> list[Json]:
    """Return a failure for each account and reason, newest first, with the failing target that was polled last."""
    newest = sorted((one for one in statuses if one.state == FAILING), key=lambda one: -one.polled)
    alike: defaultdict[tuple[str, str], list[Status]] = defaultdict(list)
    for one in newest:
        alike[one.target.client_name, one.reason].append(one)
    return [
        {
            "account": account,
            # The reason is empty if the values of a target have expired, but no poll has failed.
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


def _account(parts: Parts, process: Process, name: str, own: Sequence[Status], failures: Iterable[Json]) -> Json:
    account, states = parts.schedule.accounts[name], count_states(own)
    # Databases are not in `account_up`: a database is up if one of its targets is up.
    is_up = process.account_up.get(name, states[UP] > 0)
    return {
        "account": name,
        "up": is_up,
        "reason": "" if is_up else next((one["reason"] for one in failures if one["account"] == name), ""),
        "demand": account.pace.demand,
        "budget": account.pace.rate,
        "paused": account.client.rate_limiter.paused_for(),
        "targets": len(own),
        "failing": states[FAILING],
        "clock_offset": parts.ledger.platform_time(name).offset,
    }


def _collector(parts: Parts, name: str, own: Sequence[Status]) -> Json:
    schedule = parts.schedule
    return {
        "collector": name,
        "interval": schedule.plans[name].interval,
        "effective_interval": schedule.longest_interval(name),
        "targets": len(own),
        "failing": count_states(own)[FAILING],
        "next_run": max(0.0, schedule.next_due(name) - parts.clocks.monotonic()),
        "last_duration": schedule.durations.get(name),
    }
