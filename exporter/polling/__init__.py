"""Decides when each target is polled, polls it, and publishes the results.

`poll.py` begins the polls that are due. A poll is one coroutine, from its calls to the publication of its families.
`schedule.py` decides which polls are due, by the three rules in its docstring, and `pace.py` how often the budget of an
account allows them. `ticks.py` runs the ticks by the monotonic clock. `failure_log.py` logs failures when they begin
and end; of many, it names only the first.

In: collectors, which make the calls, and the registry's targets. Out: results in the ledger and the store.
"""
