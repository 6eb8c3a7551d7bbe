"""Durable counters, computed from the platform's values for each day or month.

The way of a poll's entry: `ledger.py` counts it at once, by the rules of `counting.py` (of a day's values `days.py`,
of a month's `months.py`), all without any I/O; `rows.py` packs the result into a row; `storage.py` is the interface of
what writes all rows of a moment in one commit, after which the ledger returns the counters. `state_file.py` keeps the
rows in SQLite, on a thread. `postgres_storage.py` keeps them in a PostgreSQL, through the one session
(`postgres_session.py`) that holds the lock of this process's shard:

    no session --begin--> session --claim--> holds shard n: rows are read, counted, written and served
        ^                    |                  |
        |                    no shard is free   the server ends the session of a process that is silent for a lease,
        |                    (a spare): later   or this process ends it; until 0.8 of the lease it may serve counters
        |                                       |
        +------- lost: lock n again; another one has it, or has counted its rows: begin again as a spare

In: the counts of a poll. Out: counter families that survive restarts. A counter never falls here, and values are
published only after they are committed.
"""
