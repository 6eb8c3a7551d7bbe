"""Decides when each target is polled, polls it, and publishes the results.

`poll.py` begins the polls that are due. A poll is one coroutine, from its calls to the publication of its families.
`schedule.py` decides which polls are due, by the three rules in its docstring. `pace.py` calculates how often the
budget of an account allows polls. `ticks.py` runs the ticks by the monotonic clock. `failure_log.py` logs when failures
begin and end; if many targets fail, it names some and counts the others.

In: collectors, which make the calls, and the registry's targets. Out: results in the ledger and the store.
"""
