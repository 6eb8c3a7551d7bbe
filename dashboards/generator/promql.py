"""Builds the parts of queries.

Several exporters may serve the same target: replicas, or two pods while shards move. So a gauge is
`max without (instance, pod)` before anything is summed. Of a counter, first the rate is taken (the rate of a maximum
would see resets that did not happen), then the maximum, then the sum.
"""

from dataclasses import dataclass

# All is the expression `.*`, so that each matcher works for one value, for several and for all, and the length of a
# query does not grow with the number of zones.
JOB = 'job=~"$job"'
ACCOUNT = 'account=~"$account"'
ZONE = 'zone_id=~"$zone"'
SCRIPT = 'script_id=~"$script"'
SHIELD_ZONE = 'shield_zone_id=~"$shield_zone"'
DATABASE = 'database=~"$database"'
INSTANCE = 'instance=~"$instance"'

# A variable for a number.
TOP = "$top"

# Ranks at the end of the time range, so that a graph shows the same series over its whole width.
AT_END = " @ end()"


def series(name: str, *matchers: str, at: str = "") -> str:
    """Select a family's series; `at` is an offset or an `@` modifier."""
    return name + "{" + ", ".join((JOB, *matchers)) + "}" + at


def gauge(name: str, *matchers: str, at: str = "") -> str:
    """Take a gauge once, however many exporters serve it."""
    return f"max without (instance, pod) ({series(name, *matchers, at=at)})"


def rate(name: str, *matchers: str, at: str = "") -> str:
    """Take a counter's increase a second once, however many exporters serve it."""
    return f"max without (instance, pod) (rate({series(name, *matchers)}[$__rate_interval]{at}))"


def increase(name: str, *matchers: str, over: str, at: str = "") -> str:
    """Take a counter's increase over a fixed time once, however many exporters serve it."""
    return f"max without (instance, pod) (increase({series(name, *matchers)}[{over}]{at}))"


def lately(name: str, *matchers: str, over: str) -> str:
    """Take the highest value that a gauge had within a time, once, however many exporters serve it."""
    return f"max without (instance, pod) (max_over_time({series(name, *matchers)}[{over}]))"


def own_rate(name: str, *matchers: str) -> str:
    """Take the rate of one of the program's own counters; those of several processes add up."""
    return f"rate({series(name, *matchers)}[$__rate_interval])"


def total(expr: str, *labels: str) -> str:
    """Sum by labels, or to one number."""
    return _aggregate("sum", expr, labels)


def highest(expr: str, *labels: str) -> str:
    """Take the maximum by labels, or of all."""
    return _aggregate("max", expr, labels)


def lowest(expr: str, *labels: str) -> str:
    """Take the minimum by labels, or of all."""
    return _aggregate("min", expr, labels)


def count(expr: str, *labels: str) -> str:
    """Count series by labels, or all of them."""
    return _aggregate("count", expr, labels)


def among_all(found: str, every: str) -> str:
    """Count what is found; 0 where nothing is found among what there is, and no result where there is nothing."""
    return f"count({found}) or 0 * count({every})"


def top(expr: str, limit: int | str = TOP) -> str:
    """Take the series of the largest values."""
    return f"topk({limit}, {expr})"


def bottom(expr: str, limit: int | str = TOP) -> str:
    """Take the series of the smallest values."""
    return f"bottomk({limit}, {expr})"


def among(expr: str, ranking: str, *labels: str) -> str:
    """Keep the series of `expr` whose labels `ranking` has, too."""
    return f"({expr}) and on ({', '.join(labels)}) {ranking}"


def ratio(part: str, whole: str, *labels: str) -> str:
    """Divide by values above zero, matched on labels; additional labels of the left side are kept."""
    return f"{part} / on ({', '.join(labels)}) group_left () ({whole} > 0)"


def with_label(expr: str, source: str, label: str, *on: str) -> str:
    """Add a label of an info metric with the same labels; series without a match are kept unchanged."""
    matched = f"on ({', '.join(on)})"
    named = highest(source, *on, label)
    return f"({expr}) * {matched} group_left ({label}) {named} or ({expr}) unless {matched} {named}"


def age(name: str, *matchers: str) -> str:
    """Take the seconds since a time that a gauge holds."""
    return f"(time() - {gauge(name, *matchers)})"


def milliseconds(expr: str) -> str:
    """Convert a time in seconds to milliseconds, for Grafana's date units."""
    return f"1000 * {expr}"


def _aggregate(operator: str, expr: str, labels: tuple[str, ...]) -> str:
    return f"{operator} by ({', '.join(labels)}) ({expr})" if labels else f"{operator}({expr})"


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
