"""Selects and combines the series of things of one kind, such as zones."""

from dataclasses import dataclass

from dashboards.generator.promql import among, highest, ratio, total
from dashboards.generator.selectors import gauge, rate


@dataclass(frozen=True, slots=True)
class Things:
    """Things of one kind, such as zones: how a page chooses them, and the labels of one.

    Attributes:
        chosen: the matchers of the page's choices.
        one: the labels that identify a thing.
        named: these and its name.
    """

    chosen: tuple[str, ...]
    one: tuple[str, ...]
    named: tuple[str, ...]

    def gauge(self, name: str, *matchers: str, at: str = "") -> str:
        """Take a gauge of the chosen things once."""
        return gauge(name, *self.chosen, *matchers, at=at)

    def rate(self, name: str, *matchers: str, at: str = "") -> str:
        """Take a counter's increase a second, of the chosen things, once."""
        return rate(name, *self.chosen, *matchers, at=at)

    def among(self, expr: str, ranking: str) -> str:
        """Keep the things that a ranking has, too."""
        return among(expr, ranking, *self.one)

    def ratio(self, part: str, whole: str) -> str:
        """Divide by values above zero, thing by thing."""
        return ratio(part, whole, *self.one)

    def each(self, expr: str) -> str:
        """Take the maximum for each thing, without its name."""
        return highest(expr, *self.one)

    def highest(self, expr: str, *more: str) -> str:
        """Take the maximum for each thing, with its name and more labels."""
        return highest(expr, *self.named, *more)

    def total(self, expr: str) -> str:
        """Sum for each thing, with its name."""
        return total(expr, *self.named)

    def ranked(self, expr: str, ranking: str, *more: str) -> str:
        """Take the maximum for each thing that a ranking has, with its name and more labels."""
        return self.highest(self.among(expr, ranking), *more)
