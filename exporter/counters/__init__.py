"""Durable counters from what the platform reports for each day or month.

`series.py` holds the rules by which a reported value is counted, without any I/O; `ledger.py` applies them to polls
on a thread of its own and publishes the counters after they are committed; `state_file.py` is the SQLite file.

In: the counts of a poll. Out: counter families that survive restarts. A counter never falls here, and nothing is
published that is not on disk.
"""
