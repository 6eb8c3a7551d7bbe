"""The daemon: builds and connects all parts, and starts, reloads and stops them.

In: settings, and a function that reads them again. Out: a process that polls and serves. `daemon.py` starts, runs,
reloads and stops it, for a shard or as a spare (`spare.py`); `work.py` has all that works for a shard, and
`accounts.py` the clients of the accounts. `machine.py` has what the daemon uses of its machine, such as clocks, which
tests replace; `tasks.py` runs its tasks and rounds, and `event_loop.py` tunes Python for one event loop.
"""
