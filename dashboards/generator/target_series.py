"""Selects and combines the series of targets of one kind, such as zones."""

from dataclasses import dataclass

from dashboards.generator.promql import among, highest, ratio, total
from dashboards.generator.selectors import gauge, rate


@dataclass(frozen=True, slots=True)
class TargetSeries:
    """The series of targets of one kind, such as zones.

    Attributes:
        chosen: the matchers for the choices of the page.
        one: the labels that identify a target.
        named: the labels that identify a target, and its name.
    """

    chosen: tuple[str, ...]
    one: tuple[str, ...]
    named: tuple[str, ...]

    def gauge(self, name: str, *matchers: str, at: str = "") -> str:
        """Return a gauge of the chosen targets, each once."""
        return gauge(name, *self.chosen, *matchers, at=at)

    def rate(self, name: str, *matchers: str, at: str = "") -> str:
        """Return the increase a second of a counter of the chosen targets, each once."""
        return rate(name, *self.chosen, *matchers, at=at)

    def among(self, expr: str, ranking: str) -> str:
        """Keep the targets that are also in a ranking."""
        return among(expr, ranking, *self.one)

    def ratio(self, part: str, whole: str) -> str:
        """Divide the values of each target, if the divisor is above zero."""
        return ratio(part, whole, *self.one)

    def each(self, expr: str) -> str:
        """Return the maximum for each target, without its name."""
        return highest(expr, *self.one)

    def highest(self, expr: str, *more: str) -> str:
        """Return the maximum for each target, with its name and more labels."""
        return highest(expr, *self.named, *more)

    def total(self, expr: str) -> str:
        """Return the sum for each target, with its name."""
        return total(expr, *self.named)

    def ranked(self, expr: str, ranking: str, *more: str) -> str:
        """Return the maximum for each target that is in a ranking, with its name and more labels."""
        return self.highest(self.among(expr, ranking), *more)
