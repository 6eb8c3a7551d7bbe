"""What the endpoints read of the daemon, which is above this package."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from exporter.exposition.store import Store
from exporter.polling.schedule import Schedule
from exporter.polling.script_budgets import ScriptBudgets
from exporter.targets.known_resources import Move
from exporter.targets.registry import Registry


class Accounts(Protocol):
    """The accounts and databases that are polled."""

    def up(self) -> Mapping[str, bool]:
        """Return for each account whether it answers; without databases."""

    def is_authenticated(self) -> bool:
        """Return whether an authenticated answer has ever come."""


class Polling(Protocol):
    """What polls, for the shard of this process."""

    store: Store
    registry: Registry
    schedule: Schedule
    budgets: ScriptBudgets

    @property
    def accounts(self) -> Accounts:
        """The accounts and databases."""

    def moves(self) -> Sequence[Move]:
        """Return the targets that left the platform, or are new there, the newest first."""


@dataclass(frozen=True, slots=True)
class Process:
    """What the process says of itself; times are unix seconds.

    Attributes:
        config_loaded: when the configuration in force was loaded.
        config_faults: the faults of a later one that was refused.
        is_durable: whether the counters are kept in a file or a database; otherwise they start at 0 with the process.
        set_aside: when damaged state was last found in this run; None if that never happened.
        spare: why this exporter polls nothing, such as "spare: 4 of 4 shards are held"; empty if it polls.
        unproven: what a spare waits for before it is ready; empty if it could take a shard.
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
    dashboard_url: str | None
    alertmanager_url: str | None
