"""What the endpoints read: the running parts of the exporter, and the state of its process."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter import __version__
from exporter.clock import Clocks
from exporter.counters.ledger import Ledger
from exporter.explain.causes import Explainer
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import Store
from exporter.polling.schedule import Schedule
from exporter.targets.registry import Registry


@dataclass(slots=True)
class Round:
    """A repeated task of the process, such as `cleaning`.

    Attributes:
        seconds: the longest wait between two rounds of the task.
        ended_at: when the last round ended or failed, on the monotonic clock; before the first, when the task began.
        succeeded_at: when a round last succeeded, in unix seconds; None if no round has succeeded.
    """

    seconds: float
    ended_at: float
    succeeded_at: float | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """The state of the process at the time of a request. Times are unix seconds.

    Attributes:
        config_loaded: when the configuration in force was loaded.
        config_faults: why a later configuration was refused; empty if no configuration was refused.
        set_aside: when an unusable state file was last renamed in this run; None if no file was renamed.
        spare: why this exporter polls no shard, such as "spare: 4 of 4 shards are held"; empty if it polls a shard.
        unproven: what has not answered yet, the state database or a platform, in words; empty if no answer is missing.
        was_ready: set when `/-/ready` first answers that the process is ready; the process then counts as ready.
        account_up: account → whether the account has answered recently; databases are not included.
        rounds: name of a repeated task → the state of the task.
        dashboard_url: the address of Grafana; None if no address is configured.
    """

    started: float
    config_loaded: float
    config_faults: tuple[str, ...]
    set_aside: float | None
    spare: str
    unproven: str
    was_ready: asyncio.Event
    account_up: Mapping[str, bool]
    rounds: Mapping[str, Round]
    dashboard_url: str | None


@dataclass(slots=True)
class Parts:
    """The running parts that the endpoints read."""

    process: Callable[[], Process]
    store: Store
    registry: Registry
    schedule: Schedule
    ledger: Ledger
    renderer: Renderer
    explainer: Explainer
    clocks: Clocks
    version: str = __version__
