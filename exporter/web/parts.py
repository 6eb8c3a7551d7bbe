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
    """Work that the process repeats, such as cleaning.

    Attributes:
        seconds: the longest wait between two rounds.
        ended_at: when the last round ended or failed, on the monotonic clock; at first, when the repetition began.
        succeeded_at: when a round last succeeded, in unix seconds; None if none has.
    """

    seconds: float
    ended_at: float
    succeeded_at: float | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """The state of the process at the time of a request. Times are unix seconds.

    Attributes:
        config_loaded: when the configuration in force was loaded.
        config_faults: why a later configuration was refused; empty if none was.
        set_aside: when a damaged state file was last renamed in this run; None if none was.
        spare: why this exporter polls no shard, such as "spare: 4 of 4 shards are held"; empty if it polls one.
        unproven: which first answer is still missing, of the state database or of a platform; empty if none is.
        was_ready: set once the process was ready; then it counts as ready for ever.
        account_up: account → whether it has answered recently; without databases.
        rounds: the name of repeated work → its state.
        dashboard_url: the address of Grafana; None if none is configured.
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
