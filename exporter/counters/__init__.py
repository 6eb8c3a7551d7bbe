"""Durable counters, computed from the platform's values for each day or month.

`days.py` contains the rules for counting a day's value, including late corrections, and `months.py` those of a
month-to-date value; `counting.py` applies them to the families of a target, all without any I/O. `ledger.py` counts
polls, and returns the counters after they are committed. `rows.py` packs the families into rows, also those of earlier
versions. `storage.py` is the ledger's interface to a storage: `state_file.py` keeps the rows in SQLite, on a thread.
`database_storage.py` keeps them in a PostgreSQL (`schema.py`), through the one session (`session.py`) that holds the
lock of this process's shard:

    no session --open--> session --claim--> holds shard n: rows are read, counted, written and served
        ^                   |                  |
        |                   no shard is free   the server ends the session of a process that is silent for a lease,
        |                   (a spare): later   or this process ends it; until 0.8 of the lease it may serve counters
        |                                      |
        +------ lost: lock n again, and read the rows anew; another one has it: begin again as a spare

In: the counts of a poll. Out: counter families that survive restarts. A counter never falls here, and values are
published only after they are committed.
"""
