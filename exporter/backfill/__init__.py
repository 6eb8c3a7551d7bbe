"""Writes history from the platform's charts, as OpenMetrics text with timestamps.

In: an account's client and targets, and the stored state (`missing_days.py`). Out: a file (`openmetrics.py`).
"""
