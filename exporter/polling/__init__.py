"""Decides when each target is polled, and records the results.

`scheduler.py` enqueues the targets that are due, and is the one place that catches unexpected exceptions of a poll;
`timetable.py` keeps the due times, `plan.py` holds how a collector is run, `worker_pool.py` runs the polls of one
account, `intervals.py` and `capacity.py` stretch intervals to the budget (each collector's `interval=` is the default),
`backoff.py` repeats failed polls sooner, `first_discovery.py` delays polls that need names, `results.py` records the
outcome in the ledger and the store, `failure_log.py` logs failures once when they begin and once when they end, and
`script_budgets.py` binds monthly budgets to scripts.

In: the catalogue's collectors and the registry's targets. Out: results in the ledger, the store and the status board.
`collectors/poll.py` makes the polls.
"""
