"""Writes history from the platform's charts, as OpenMetrics text with timestamps.

In: an account's client and targets, and the rows of the state (`charts.py`). Out: a file (`openmetrics.py`).
"""
