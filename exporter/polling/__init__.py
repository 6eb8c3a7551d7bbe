"""When each target is polled, and what happens with the result.

`scheduler.py` enqueues the targets that are due and holds the one place where an unexpected exception of a poll ends;
`timetable.py` knows what is due when, `plan.py` is how a collector is run, `worker_pool.py` runs the polls of one
account, `intervals.py` and `capacity.py` stretch intervals to the budget (the defaults stand in each collector's
`interval=`), `backoff.py` repeats failed polls sooner, `first_discovery.py` delays polls that need names, `results.py`
records the outcome in the ledger and the store, `failure_log.py` logs failures once when they begin and once when they
end, and `script_budgets.py` binds monthly budgets to scripts.

In: the catalogue's collectors and the registry's targets. Out: results in the ledger, the store and the status board.
How a poll is made is not decided here but in `collectors/poll.py`.
"""
