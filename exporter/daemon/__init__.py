"""The daemon: builds and connects the parts of the exporter, and starts, reloads and stops them.

In: settings, and a function that reads them again. Out: a process that polls and serves. `daemon.py` starts, reloads
and stops the process, also as a spare. `work.py` contains the parts that poll one shard, and `accounts.py` the clients
of the accounts. `machine.py` declares what tests replace: clocks, random numbers, threads, connections, the storage and
the server. `tasks.py` runs background tasks and rounds. `event_loop.py` tunes Python for one event loop, and measures
the loop's lag.
"""
