"""Durable counters, computed from the platform's values for each day or month.

`series.py` contains the rules for counting a day's value, including late corrections, and `months.py` those of a
month-to-date value; `counting.py` applies them to the families of a target, all without any I/O. `ledger.py` counts
polls, and returns the counters after they are committed. `rows.py` packs the families into rows, and `upgrade.py`
converts those of earlier versions. `storage.py` is the ledger's interface to a storage, and `on_thread.py` makes one of
a storage that blocks: `state_file.py` keeps the rows in SQLite, `database_storage.py` in PostgreSQL
(`state_database.py`), where `lease.py` excludes other exporters. `copying.py` copies one storage to another.

How a lease, its epoch and its holder live in a state database:

    free or ended --claim--> held: holder A, epoch n --renew--> ends 1 lease later     (A writes and serves)
                               |            |
                  A releases it (handover,  A is silent until the lease has ended
                  end of the process)       |
                               |            |-- A renews before anyone claims --> held: A, epoch n
                               v            v
                             claimed by B: holder B, epoch n + 1
                               |
                               v
              a commit of A under epoch n writes nothing: A drops the shard, and serves no counter of epoch n again;
              A may claim it later, with epoch n + 2, and reads its rows before it counts

`lease_table.py` has the statements, `lease.py` the thread that claims, renews and hands over, and `database_storage.py`
compares epochs: a row is written, and a counter served, only under the epoch whose rows the ledger has read.

In: the counts of a poll. Out: counter families that survive restarts. A counter never falls here, and values are
published only after they are committed.
"""
