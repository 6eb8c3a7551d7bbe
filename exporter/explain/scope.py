"""The families that the configuration exposes or excludes."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.causes import Cause
from exporter.collectors.collector import Collector


@dataclass(frozen=True, slots=True)
class Scope:
    """The families that the configuration exposes or excludes.

    Attributes:
        collectors: every collector, run or not, in the order of the exposition.
        disabled: sections of the configuration whose collectors are disabled.
        refusal: family → the cause and the pattern for which it is excluded; None if it is admitted.
        state_path: the file of the ledger; empty if the ledger is in memory.
    """

    collectors: tuple[Collector, ...]
    disabled: frozenset[str]
    refusal: Callable[[str], tuple[Cause, str] | None]
    state_path: str = ""
