"""Decides when each target is polled, polls it, and publishes what came back.

`schedule.py` begins the polls that are due, by the three rules at its head; `pace.py` says how often the budget of an
account allows it, and `ticks.py` runs it by a clock that nobody sets. `poll.py` is one poll from its calls to its
families, and the one place that catches unexpected exceptions of a poll. `failure_log.py` logs failures once when they
begin and once when they end.

In: the catalogue's collectors and the registry's targets. Out: results in the ledger and the store.
`collectors/collector.py` makes the calls of a poll.
"""
