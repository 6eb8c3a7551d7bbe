"""Durable counters, computed from the platform's values for each day or month.

A poll is counted in three steps. `ledger.py` counts it by the rules of `counting.py`, `days.py` and `months.py`, and
packs the result into the target's row (`rows.py`). It waits 0.2 s for further polls, and writes the rows of all of them
to a storage. Then it returns the target's counters as they were last committed, which are published.

`storage.py` is the interface of a storage. `state_file.py` keeps the rows in SQLite, on a thread. `postgres_storage.py`
keeps them in PostgreSQL, through one session (`postgres_session.py`), which holds the lock of this process's shard
(`shard_locks.py`):

    no session --begin--> session --claim--> holds shard n: its rows are read, counted, written and served
        ^                    |                  |
        |                    no shard is free:  the session ends: the server ends it after a lease without a statement,
        |                    a spare, which     or this process ends it after an error
        |                    claims again later |
        +------- shard n is locked again; if another process has it, or has counted since, this one becomes a spare

These counters are served only while it is certain that the session exists: for 0.8 of a lease after a statement.

In: the counts of a poll. Out: the families of counters, and of gauges that show when something changed.
"""
