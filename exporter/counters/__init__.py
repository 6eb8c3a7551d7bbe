"""Durable counters from what the platform reports for each day or month.

`series.py` holds the rules by which a day's value is counted, a late correction too, and `months.py` those of a
month-to-date value, both without any I/O; `ledger.py` applies them to polls on a thread of its own and publishes the
counters after they are committed. `storage.py` is what it asks of a storage:
`file_storage.py` keeps the rows in SQLite (`state_file.py`), `database_storage.py` in PostgreSQL (`state_database.py`),
where `lease.py` keeps other exporters out. `copying.py` copies one storage to another.

In: the counts of a poll. Out: counter families that survive restarts. A counter never falls here, and nothing is
published that is not committed.
"""
