"""Selects the series of a family, each target once.

Several exporters may serve the same target: replicas, or two pods while shards move. So a gauge is
`max without (instance, pod)` before anything is summed. Of a counter, first the rate is taken (the rate of a maximum
would see resets that did not happen), then the maximum, then the sum.
"""

# All is the expression `.*`, so that each matcher works for one value, for several and for all, and the length of a
# query does not grow with the number of zones.
JOB = 'job=~"$job"'
ACCOUNT = 'account=~"$account"'
ZONE = 'zone_id=~"$zone"'
SCRIPT = 'script_id=~"$script"'
SHIELD_ZONE = 'shield_zone_id=~"$shield_zone"'
DATABASE = 'database=~"$database"'
INSTANCE = 'instance=~"$instance"'

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


def age(name: str, *matchers: str) -> str:
    """Take the seconds since a time that a gauge holds."""
    return f"(time() - {gauge(name, *matchers)})"
