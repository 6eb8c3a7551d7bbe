"""Explains absences: names one cause for every family that a target could have and that has no series.

In: the settings, the targets, and the statuses of their polls, which are only read. Out: absences; no state is kept.
"""
