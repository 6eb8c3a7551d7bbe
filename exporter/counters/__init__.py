"""Durable counters, computed from the platform's values for each day or month.

`days.py` contains the rules for counting a day's value, including late corrections, and `months.py` those of a
month-to-date value; `series.py` applies them to the series of a family, all without any I/O. `ledger.py` counts polls
on its own thread, and publishes the counters after they are committed. `storage.py` is its interface to a storage:
`file_storage.py` keeps the rows in SQLite (`state_file.py`), `database_storage.py` in PostgreSQL (`state_database.py`),
where `lease.py` excludes other exporters. `copying.py` copies one storage to another.

In: the counts of a poll. Out: counter families that survive restarts. A counter never falls here, and values are
published only after they are committed.
"""
