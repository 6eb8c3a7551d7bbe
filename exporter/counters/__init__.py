"""Durable counters from what the platform reports for each day or month.

`days.py` holds the rules by which a day's value is counted, late corrections included, and `months.py` those of a
month-to-date value; `series.py` applies them to the series of a family, all without any I/O. `ledger.py` counts polls
on a thread of its own, and publishes the counters after they are committed. `storage.py` is its interface to a storage:
`file_storage.py` keeps the rows in SQLite (`state_file.py`), `database_storage.py` in PostgreSQL (`state_database.py`),
where `lease.py` keeps other exporters out. `copying.py` copies one storage to another.

In: the counts of a poll. Out: counter families that survive restarts. A counter never falls here, and nothing is
published that is not committed.
"""
