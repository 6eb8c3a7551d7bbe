"""What the endpoints are told of the daemon, which is above this package."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Process:
    """What the process says of itself at the time of a request; times are unix seconds.

    Attributes:
        config_loaded: when the configuration in force was loaded.
        config_faults: the faults of a later one that was refused.
        is_durable: whether the counters are kept in a file or a database; otherwise they start at 0 with the process.
        set_aside: when damaged state was last found in this run; None if that never happened.
        spare: why this exporter polls nothing, such as "spare: 4 of 4 shards are held"; empty if it polls.
        unproven: what a spare waits for before it is ready; empty if it could take a shard.
        account_up: account → whether it answers; without databases.
        is_authenticated: whether an authenticated answer has ever come.
        unmatched_budgets: account and configured name of the monthly budgets that belong to no script.
        dashboard_url: the address of Grafana; None if it is not known.
        alertmanager_url: the address of Alertmanager; None if it is not known.
    """

    started: float
    config_loaded: float
    config_faults: tuple[str, ...]
    is_durable: bool
    set_aside: float | None
    spare: str
    unproven: str
    account_up: Mapping[str, bool]
    is_authenticated: bool
    unmatched_budgets: tuple[tuple[str, str], ...]
    dashboard_url: str | None
    alertmanager_url: str | None
