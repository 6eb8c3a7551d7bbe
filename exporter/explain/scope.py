"""What the configuration lets be exposed, as the explanation needs it."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.causes import Cause
from exporter.collectors.collector import Collector


@dataclass(frozen=True, slots=True)
class Scope:
    """What the configuration lets be exposed.

    Attributes:
        collectors: every collector, run or not, in the order of the exposition.
        disabled: sections of the configuration whose collectors are disabled.
        refusal: family → the cause and the pattern that keep it out of the exposition; None where it is admitted.
        state_path: the ledger's file; empty where it is kept in memory.
    """

    collectors: tuple[Collector, ...]
    disabled: frozenset[str]
    refusal: Callable[[str], tuple[Cause, str] | None]
    state_path: str = ""
