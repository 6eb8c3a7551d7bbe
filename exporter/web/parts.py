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
        seconds: the longest usual time between the ends of two rounds.
        ended_at: when the last round ended, with or without an error, on the monotonic clock; at first the start.
        succeeded_at: when a round last succeeded, in unix seconds; None if none has.
    """

    seconds: float
    ended_at: float
    succeeded_at: float | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """The state of the process at the time of a request; the daemon returns it. Times are unix seconds.

    Attributes:
        config_loaded: when the configuration in force was loaded.
        config_faults: the faults of a later configuration, which was refused; empty if none was.
        set_aside: when damaged state was last found in this run; None if that never happened.
        spare: why this exporter polls nothing, such as "spare: 4 of 4 shards are held"; empty if it polls.
        unproven: which first answer is still missing, of the state database or of a platform; empty if none is.
        was_ready: set when an answer says for the first time that the process is ready; that stays the answer.
        account_up: account → whether it answers; without databases.
        rounds: what is known of each kind of round, by its name.
        dashboard_url: the address of Grafana; None if it is not known.
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
    """The running parts that the endpoints read; reading them causes no platform call."""

    process: Callable[[], Process]
    store: Store
    registry: Registry
    schedule: Schedule
    ledger: Ledger
    renderer: Renderer
    explainer: Explainer
    clocks: Clocks
    version: str = __version__
