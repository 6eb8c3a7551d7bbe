"""Durable counters, computed from the platform's values of days or months.

`ledger.py` takes a poll in three steps. It counts the values by the rules of `counting.py`, `days.py` and `months.py`,
and packs the result into the target's row (`rows.py`). It waits 0.2 s for further polls, and writes the changed rows to
a storage. Then it returns the counters of the target that were committed last, and the poll publishes them.

`storage.py` is the interface of a storage. `state_file.py` keeps the rows in SQLite, on a thread. `postgres_storage.py`
keeps the rows in PostgreSQL, through one session (`postgres_session.py`). The session holds the lock of this process's
shard (`shard_locks.py`):

    no session --begin--> session --claim--> holds shard n: the rows of shard n are read and written, counters served

If no shard is free, this process is a spare, and claims again later. The server ends a session after a lease
(`state.lease`) without a statement, and this process ends a session after an error. Then this process begins a new
session, and locks shard n again, without `claim`. If another process has locked shard n, or has written rows of shard n
meanwhile, this process becomes a spare.

Counters from PostgreSQL are served only while the session certainly exists: at most for 0.8 of a lease after the last
answered statement was sent.

In: the counts of a poll. Out: the families of counters, and of gauges that show when something changed.
"""
