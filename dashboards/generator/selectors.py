"""Selects the series of a family, each target once.

Several exporters may serve the same target: replicas, or two pods while the number of shards changes. So a gauge is
`max without (instance, pod)` before it is summed. For a counter, the rate is taken first, because the rate of a maximum
would see resets that did not happen; then the maximum.
"""

# Matchers for the choices of a page. The value of All is `.*`, so a matcher works for one value, several and all, and a
# query does not become longer with the number of zones.
JOB = 'job=~"$job"'
ACCOUNT = 'account=~"$account"'
ZONE = 'zone_id=~"$zone"'
SCRIPT = 'script_id=~"$script"'
SHIELD_ZONE = 'shield_zone_id=~"$shield_zone"'
DATABASE = 'database=~"$database"'
INSTANCE = 'instance=~"$instance"'

# A modifier for rankings: at the end of the time range, so that a graph shows the same series over its whole width.
AT_END = " @ end()"


def series(name: str, *matchers: str, at: str = "") -> str:
    """Return a query for a family's series; `at` is an offset or an `@` modifier."""
    return name + "{" + ", ".join((JOB, *matchers)) + "}" + at


def gauge(name: str, *matchers: str, at: str = "") -> str:
    """Return a query for a gauge, with one series for each target, even if several exporters serve it."""
    return f"max without (instance, pod) ({series(name, *matchers, at=at)})"


def rate(name: str, *matchers: str, at: str = "") -> str:
    """Return a query for the increase a second of a counter, with one series for each target."""
    return f"max without (instance, pod) (rate({series(name, *matchers)}[$__rate_interval]{at}))"


def increase(name: str, *matchers: str, over: str, at: str = "") -> str:
    """Return a query for the increase of a counter over a fixed time, with one series for each target."""
    return f"max without (instance, pod) (increase({series(name, *matchers)}[{over}]{at}))"


def lately(name: str, *matchers: str, over: str) -> str:
    """Return a query for the highest value of a gauge within a time, with one series for each target."""
    return f"max without (instance, pod) (max_over_time({series(name, *matchers)}[{over}]))"


def own_rate(name: str, *matchers: str) -> str:
    """Return a query for the rate of one of the exporter's own counters; each process has its own series."""
    return f"rate({series(name, *matchers)}[$__rate_interval])"


def age(name: str, *matchers: str) -> str:
    """Return a query for the seconds that have passed since the time in a gauge."""
    return f"(time() - {gauge(name, *matchers)})"
