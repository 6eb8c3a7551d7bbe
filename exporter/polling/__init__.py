"""Decides when each target is polled, polls it, and publishes what came back.

`poll.py` begins the polls that are due, and is each of them from its calls to its families; it is the one place that
catches unexpected exceptions of a poll. `schedule.py` says what is due, by the three rules at its head, and `pace.py`
how often the budget of an account allows it; `ticks.py` runs the ticks by the monotonic clock. `failure_log.py`
logs failures once when they begin and once when they end.

In: the catalogue's collectors and the registry's targets. Out: results in the ledger and the store.
`collectors/collector.py` makes the calls of a poll.
"""
