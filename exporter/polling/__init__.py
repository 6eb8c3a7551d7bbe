"""Decides when each target is polled, polls it, and publishes what came back.

`scheduler.py` enqueues the targets that are due, and has the workers of each account, which poll them. `poll.py` is one
poll from its call to its families; it is the one place that catches unexpected exceptions of a poll. `timetable.py`
keeps the due times: it stretches intervals to the budget (each collector's `interval=` is the default), and repeats
failed polls sooner. `first_discovery.py` delays polls that need names, `failure_log.py` logs failures once when they
begin and once when they end, and `script_budgets.py` binds monthly budgets to scripts.

In: the catalogue's collectors and the registry's targets. Out: results in the ledger and the store.
`collectors/collector.py` makes the calls of a poll.
"""
