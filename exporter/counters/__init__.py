"""Durable counters, computed from the platform's values for each day or month.

A poll is counted in three steps. `ledger.py` counts it by the rules of `counting.py`, `days.py` and `months.py`, and
packs the result into the target's row (`rows.py`). It waits 0.2 s for further polls, and writes the rows of all of them
to a storage. Then it returns the target's counters as they were last committed, which are published.

`storage.py` is the interface of a storage. `state_file.py` keeps the rows in SQLite, on a thread. `postgres_storage.py`
keeps them in PostgreSQL, through one session (`postgres_session.py`), which holds the lock of this process's shard
(`shard_locks.py`):

    no session --begin--> session --claim--> holds shard n: its rows are read, counted, written and served

If no shard is free, this process is a spare, and claims again later. The server ends a session that sends no statement
for a lease, and this process ends it after an error. Then it begins a new session, and locks shard n again, without
`claim`. If another process has locked shard n, or has written its rows since then, this process becomes a spare.

Counters are served from PostgreSQL only while it is certain that the session exists: for 0.8 of a lease after a
statement.

In: the counts of a poll. Out: the families of counters, and of gauges that show when something changed.
"""
