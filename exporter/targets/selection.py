"""Which resources of an account the configuration selects."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.targets.target import Target
from exporter.untrusted.patterns import Pattern


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects the resources of one kind that are polled in an account.

    Attributes:
        fixed: targets that the configuration names; they are polled even if no listing contains them.
        discover: whether listed resources are polled too.
        include: if not empty, the name of a listed resource must match one of these patterns.
        exclude: the name of a listed resource must match none of these patterns.
        attributes: what the collector needs to know about each target of this kind.
        setting: the path in the configuration under which such targets are named.
    """

    account: str
    kind: str
    fixed: tuple[Target, ...] = ()
    discover: bool = False
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    setting: tuple[str | int, ...] = ()

    def rejection(self, name: str) -> tuple[str | int, ...] | None:
        """Return the path, below `setting`, of the key that leaves out a resource of this name; None if none does."""
        if not self.discover:
            return ()
        if self.include and not any(pattern.search(name) for pattern in self.include):
            return ("include",)
        excluding = (place for place, pattern in enumerate(self.exclude) if pattern.search(name))
        return next((("exclude", place) for place in excluding), None)
