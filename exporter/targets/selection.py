"""Which resources of an account the configuration selects."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.targets.target import Target
from exporter.untrusted.patterns import Pattern


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects the resources of one kind that are polled in an account.

    Attributes:
        fixed: the targets that the configuration names; they are polled even if no list contains them.
        discover: whether listed resources are polled too.
        include: if not empty, the name of a listed resource must match one of these patterns.
        exclude: the name of a listed resource must match none of these patterns.
        attributes: the attributes of discovered targets.
        setting: the path of the setting or section that selects these resources.
    """

    account: str
    kind: str
    fixed: tuple[Target, ...] = ()
    discover: bool = False
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    setting: tuple[str | int, ...] = ()

    def selects(self, name: str) -> bool:
        """Return whether a listed resource with this name is selected."""
        return self.rejection(name) is None

    def rejection(self, name: str) -> tuple[str | int, ...] | None:
        """Return the path of the setting that leaves out a listed resource with this name; None if it is selected."""
        if not self.discover:
            return self.setting
        if self.include and not any(pattern.search(name) for pattern in self.include):
            return (*self.setting, "include")
        for index, pattern in enumerate(self.exclude):
            if pattern.search(name):
                return (*self.setting, "exclude", index)
        return None
